#pragma once

#include <optional>

#include "judge/evidence.h"

namespace assay::judge {

/// A wall clock that differs from the controller's by more than this is wrong. Without a measured
/// offset, a smaller difference is the time that its messages took, and its clock aligns nodes
/// better than the arrival of their messages does. Seconds.
inline constexpr double kWrongClock_s = 1;

/// The lag of a node's wall clock behind the controller's, and its origin.
struct ClockError {
  double behind_s = 0;       ///< negative: ahead
  double uncertainty_s = 0;  ///< of a measured lag
  bool measured = false;     ///< at the run's start; else from the arrival of the round's messages
};

/// The lag measured at the run's start, unless the messages of the round contradict it (the clock
/// was set since): a message cannot come before it was sent, and the quickest takes less than a
/// second. Nothing if neither is known.
[[nodiscard]] std::optional<ClockError> clock_error(const NodeEvidence& node);

/// Moves the wall stamps of nodes whose clock is off (clock_error) to the controller's, so that no
/// time that spans nodes is wrong by it: measured offsets beyond their uncertainty, others beyond
/// kWrongClock_s. The remaining error is the uncertainty, or the time that the quickest message
/// took. Monotonic stamps stay unchanged.
void align_clocks(RoundEvidence& evidence);

}  // namespace assay::judge
