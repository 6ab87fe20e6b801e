#pragma once

#include <cstdint>

#include "core/time.h"
#include "jobs/job_state.h"

namespace assay::platform {

struct Clocks {
  jobs::WallTime wall_ns = 0;
  std::int64_t boot_ns = 0;  ///< of CLOCK_BOOTTIME, which nobody can set
};

/// Both at one moment.
[[nodiscard]] Clocks read_clocks() noexcept;

/// Notices that the wall clock was set: by its administrator, by NTP after a start with a wrong
/// clock, or because a virtual machine stood still for a while. That the machine slept is no such
/// thing, and neither is a clock that is made a little faster or slower. Not thread-safe.
class ClockWatch {
 public:
  explicit ClockWatch(const Clocks& first) : apart_ns_(first.wall_ns - first.boot_ns) {}

  /// By how much it was set since then: ahead, or (negative) back; 0 where that is less than a
  /// second, which a thread may lose between two clocks.
  [[nodiscard]] Nanoseconds set_by(const Clocks& now) const noexcept;
  /// What was made of it is done.
  void take(Nanoseconds by) noexcept { apart_ns_ += by.count(); }

 private:
  std::int64_t apart_ns_;
};

}  // namespace assay::platform
