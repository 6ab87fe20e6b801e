#pragma once

#include <cstdint>

#include "perflog/event.h"

namespace assay::judge {

inline constexpr std::int64_t kNoTime = perflog::Event::kMissing;

/// When a rank logged something, on the clocks that its line carries (kNoTime for a missing one).
struct Stamp {
  std::int64_t mono_us = kNoTime;
  std::int64_t wall_ms = kNoTime;
  [[nodiscard]] bool known() const noexcept { return mono_us != kNoTime || wall_ms != kNoTime; }
};

}  // namespace assay::judge
