#pragma once

#include "agent/messages.h"

namespace assay::agent {

/// This agent's identity. `boot_id` is equal on one machine.
[[nodiscard]] Hello make_hello();

/// A TCP port without a listener right now.
[[nodiscard]] int free_port();

}  // namespace assay::agent
