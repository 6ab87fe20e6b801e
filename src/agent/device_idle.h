#pragma once

#include <vector>

#include "core/time.h"
#include "probe/check.h"
#include "telemetry/device_parser.h"
#include "telemetry/device_source.h"

namespace assay::agent {

/// Whether the newest reading of any device shows another user's work or memory (over a tenth of
/// either); names those devices. Pure.
[[nodiscard]] probe::Check judge_idle(const std::vector<telemetry::DeviceReading>& readings);

/// Samples the devices with the first of `sources` that yields a sample, allowing each at most
/// `timeout`. Blocks.
[[nodiscard]] probe::Check check_idle(const std::vector<telemetry::DeviceSource>& sources,
                                      Nanoseconds timeout);

}  // namespace assay::agent
