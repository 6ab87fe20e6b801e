#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "probe/device_state.h"

namespace assay::agent {

/// The report of the vendor's `state` command on this machine's devices; placeholders as in
/// `samples`. Blocks for at most `timeout`. Never throws: a failure becomes the problem.
[[nodiscard]] probe::DeviceStates read_device_states(const std::vector<std::string>& command,
                                                     Nanoseconds timeout);

}  // namespace assay::agent
