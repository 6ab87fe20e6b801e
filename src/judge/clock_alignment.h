#pragma once

#include <optional>

#include "judge/evidence.h"

namespace assay::judge {

/// A wall clock that differs from the controller's by more than this is wrong. Without a measured
/// offset, a smaller difference is the time that its messages took, and its clock aligns nodes
/// better than the arrival of their messages does. Seconds.
inline constexpr double kWrongClock_s = 1;

/// How far a node's wall clock is behind the controller's, and how that is known.
struct ClockError {
  double behind_s = 0;       ///< negative: ahead
  double uncertainty_s = 0;  ///< of a measured one
  bool measured = false;     ///< by the run's start; else by when the round's messages came
};

/// What the run's start measured, unless the messages of the round contradict it (the clock was set
/// since): a message cannot come before it was sent, and the quickest takes less than a second.
/// Nothing where neither is known.
[[nodiscard]] std::optional<ClockError> clock_error(const NodeEvidence& node);

/// Moves the wall stamps of nodes whose clock is off (clock_error) to the controller's, so that no
/// time that spans nodes is wrong by it: measured offsets beyond their uncertainty, others beyond
/// kWrongClock_s. What is left is the uncertainty, or the time that the quickest message took.
/// Monotonic stamps stay.
void align_clocks(RoundEvidence& evidence);

}  // namespace assay::judge
