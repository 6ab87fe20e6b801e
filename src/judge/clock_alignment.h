#pragma once

#include <optional>

#include "judge/evidence.h"

namespace assay::judge {

/// A wall clock that differs from the controller's by more than this is wrong. Without a measured
/// offset, a smaller difference is due to message latency, and the clock aligns nodes better than
/// the arrival of their messages does. Seconds.
inline constexpr double kWrongClock_s = 1;

/// How far a node's wall clock is behind the controller's, and how this is known.
struct ClockError {
  double behind_s = 0;       ///< negative when ahead
  double uncertainty_s = 0;  ///< of a measured value
  bool measured = false;     ///< at the run's start; else by when messages came
};

/// The run's initial measurement, unless the round's messages contradict it (the clock was set
/// since): a message cannot arrive before it was sent, and the quickest takes less than a second.
/// Nothing when neither is known.
[[nodiscard]] std::optional<ClockError> clock_error(const NodeEvidence& node);

/// Moves the wall stamps of nodes whose clock is off (clock_error) to the controller's clock, so
/// that it falsifies no time across nodes: measured offsets beyond their uncertainty, others beyond
/// kWrongClock_s. The remaining error is the uncertainty, or the latency of the quickest message.
/// Monotonic stamps stay.
void align_clocks(RoundEvidence& evidence);

}  // namespace assay::judge
