#pragma once

#include <functional>
#include <string>

#include "platform/clock_watch.h"
#include "platform/platform.h"

namespace assay::platform {

/// Removes round by round what the settings say that is kept no longer, and says so before the
/// first one and after each. What a wall clock makes old that was set ahead is not taken for old at
/// once: the round in which that is noticed only says what the next one will remove. In the thread
/// that calls it.
class RetentionRounds {
 public:
  struct Parts {
    Platform& platform;
    Nanoseconds every{};  ///< between two rounds
    std::function<void(const std::string&)> say{};
    std::function<bool()> ending{};  ///< whether the server was told to end: nothing more goes
    std::function<Clocks()> clocks = read_clocks;
  };
  explicit RetentionRounds(Parts parts);

  /// What the first round will remove, and whether the clock is to be looked at before.
  void say_ahead();
  /// One round. False: the clock was set ahead since the last one, and nothing was removed.
  bool remove();

 private:
  void remove(jobs::WallTime now_ns, bool only_say, const std::string& why_look);
  [[nodiscard]] jobs::WallTime newest_ns();

  Parts parts_;
  ClockWatch clock_;
};

}  // namespace assay::platform
