#pragma once

#include <cstdint>

#include "perflog/event.h"

namespace assay::judge {

inline constexpr std::int64_t kNoTime = perflog::Event::kMissing;

/// time_ms is truncated to milliseconds, on both sides of a comparison.
inline constexpr double kStampResolution_s = 2e-3;

/// When a rank logged something, on the clocks that its line carries (kNoTime for a missing one).
struct Stamp {
  std::int64_t mono_us = kNoTime;
  std::int64_t wall_ms = kNoTime;
  [[nodiscard]] bool known() const noexcept { return mono_us != kNoTime || wall_ms != kNoTime; }
};

}  // namespace assay::judge
