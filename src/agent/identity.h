#pragma once

#include "agent/messages.h"

namespace assay::agent {

/// This agent's identity. `boot_id` is the same for all agents of a machine. `component` is the one
/// of a heterogeneous Slurm job, or empty.
[[nodiscard]] Hello make_hello(const std::string& component);

/// A TCP port that has no listener at the moment.
[[nodiscard]] int free_port();

}  // namespace assay::agent
