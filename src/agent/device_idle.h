#pragma once

#include <vector>

#include "core/time.h"
#include "probe/check.h"
#include "telemetry/device_parser.h"
#include "telemetry/device_source.h"

namespace assay::agent {

/// Pure: whether the newest reading of each device shows work or memory of another user (more than
/// a tenth of either). Names the devices.
[[nodiscard]] probe::Check judge_idle(const std::vector<telemetry::DeviceReading>& readings);

/// Takes a sample of the devices from the first of `sources` that gives one; each is given at most
/// `timeout`. Blocks.
[[nodiscard]] probe::Check check_idle(const std::vector<telemetry::DeviceSource>& sources,
                                      Nanoseconds timeout);

}  // namespace assay::agent
