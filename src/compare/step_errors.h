#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/result.h"
#include "stats/student.h"

namespace assay::compare {

/// The possible error of the mean step time over some rounds due to their steps: logarithms of
/// ratios, drawn with a bootstrap that respects the steps' autocorrelation (stats/bootstrap.h).
/// Takes the rounds as given: variation between rounds is not included. Empty if a round has no
/// steady steps, or too few.
[[nodiscard]] std::vector<double> step_errors(std::span<const judge::RoundResult* const> rounds);

/// The 95 % interval of a relative change of `observed`, from the errors of both sides' step times;
/// nothing without these. `of_time`: the metric grows with the step time rather than the speed.
[[nodiscard]] std::optional<stats::Interval> steps_interval(double observed, bool of_time,
                                                            std::span<const double> base,
                                                            std::span<const double> candidate);

}  // namespace assay::compare
