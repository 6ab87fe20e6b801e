#pragma once

#include "core/json.h"

namespace assay::agent {

/// Who this agent is, for its hello: `host`, `home`, `bindir` (the folder of its program),
/// `address` (under which other nodes reach this one), `boot_id` (equal on one machine), `job` (the
/// scheduler's, where there is one). What is not known is absent.
[[nodiscard]] Json identity();

/// A TCP port that nobody listens on right now.
[[nodiscard]] int free_port();

}  // namespace assay::agent
