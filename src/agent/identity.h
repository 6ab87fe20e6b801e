#pragma once

#include "agent/messages.h"

namespace assay::agent {

/// This agent's identity. `boot_id` is equal on one machine. `component` is that of a heterogeneous
/// job of Slurm, or empty.
[[nodiscard]] Hello make_hello(const std::string& component);

/// A TCP port without a listener right now.
[[nodiscard]] int free_port();

}  // namespace assay::agent
