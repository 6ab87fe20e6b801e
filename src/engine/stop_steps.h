#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/time.h"

namespace assay::engine {

/// How a controller that is to end is brought to it: told once, after the grace told again, which
/// means at once, and killed when it does not end for 20 s. No clock: times are handed in
/// (monotonic nanoseconds). A step that is due stays so until it was done.
class StopSteps {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  enum class Step { none, tell, tell_again, kill };

  /// The platform wants its end. A second wish can only shorten the grace.
  void want(std::int64_t now_ns, Nanoseconds grace) {
    wanted_ = true;
    again_at_ns_ = std::min(again_at_ns_, now_ns + std::max(grace, kBetweenSignals).count());
  }
  /// It was told once, by an earlier server.
  void was_told() noexcept { told_ = 1; }

  [[nodiscard]] Step due(std::int64_t now_ns) const noexcept {
    if (!wanted_ || now_ns < next_ns()) return Step::none;
    return told_ == 0 ? Step::tell : told_ == 1 ? Step::tell_again : Step::kill;
  }
  void did(Step step, std::int64_t now_ns) noexcept {
    if (step == Step::kill) return kill();
    ++told_;
    again_at_ns_ = std::max(again_at_ns_, now_ns + kBetweenSignals.count());
    kill_at_ns_ = now_ns + kForceLimit.count();
  }
  /// It was, for whatever reason.
  void kill() noexcept { killed_ = true; }
  /// When the next step is due without another wish; kNever: none is.
  [[nodiscard]] std::int64_t next_ns() const noexcept {
    if (killed_ || !wanted_) return kNever;
    return told_ == 0 ? 0 : told_ == 1 ? again_at_ns_ : kill_at_ns_;
  }
  [[nodiscard]] bool wanted() const noexcept { return wanted_; }
  [[nodiscard]] bool killed() const noexcept { return killed_; }

 private:
  // Two signals of one kind that wait at the same time are one.
  static constexpr Nanoseconds kBetweenSignals = std::chrono::milliseconds(100);
  // For a controller that was told to end at once: its agents kill, and remove containers.
  static constexpr Nanoseconds kForceLimit = std::chrono::seconds(20);

  bool wanted_ = false;
  bool killed_ = false;
  int told_ = 0;
  std::int64_t again_at_ns_ = kNever;
  std::int64_t kill_at_ns_ = kNever;
};

}  // namespace assay::engine
