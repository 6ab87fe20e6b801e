#pragma once

#include <cstdint>
#include <limits>

namespace assay::telemetry {

/// In nanoseconds, like all sample times.
inline constexpr std::int64_t kSecond = 1'000'000'000;

/// A value that could not be read; an empty cell in the table.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace assay::telemetry
