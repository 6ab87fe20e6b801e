#include "platform/clock_watch.h"

namespace assay::platform {

namespace {

constexpr Nanoseconds kLeast = std::chrono::seconds(1);
// Between the two readings of the clock that is not set: else the thread was held up meanwhile.
constexpr Nanoseconds kOneMoment = std::chrono::milliseconds(50);
constexpr int kReadings = 5;

}  // namespace

Clocks read_clocks() noexcept {
  Clocks clocks;
  for (int i = 0; i < kReadings; ++i) {
    clocks.boot_ns = boot_now_ns();
    clocks.wall_ns = wall_now_ns();
    if (boot_now_ns() - clocks.boot_ns < kOneMoment.count()) break;
  }
  return clocks;
}

Nanoseconds ClockWatch::set_by(const Clocks& now) const noexcept {
  const Nanoseconds by(now.wall_ns - now.boot_ns - apart_ns_);
  return by > -kLeast && by < kLeast ? Nanoseconds(0) : by;
}

}  // namespace assay::platform
