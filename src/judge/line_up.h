#pragma once

#include "judge/evidence.h"

namespace assay::judge {

/// A wall clock that differs from the controller's by more than this is wrong; by less, it is the
/// time that its messages took, and lines up nodes better than their arrival does. Seconds.
inline constexpr double kWrongClock_s = 1;

/// Moves the wall stamps of nodes whose clock is wrong (NodeEvidence::clock_behind_s) to the
/// controller's, so that no time that spans nodes is wrong by it. What is left is the time that the
/// quickest message took. Monotonic stamps stay.
void line_up_clocks(RoundEvidence& evidence);

}  // namespace assay::judge
