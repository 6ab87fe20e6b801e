#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "judge/result.h"
#include "stats/student.h"

namespace assay::compare {

/// How far the mean step time over some rounds may be off because of their steps: logarithms of
/// ratios, drawn by a bootstrap that respects the steps' autocorrelation (stats/bootstrap.h). The
/// rounds are taken as they are: what differs from round to round by itself is not in it. Empty
/// when a round has no steady steps, or too few.
[[nodiscard]] std::vector<double> step_errors(std::span<const judge::RoundResult* const> rounds);

/// The 95 % interval of a change of `observed` (relative) from the errors of both sides' step
/// times; nothing when there are none. `of_time`: the metric grows with the step time, not with the
/// speed.
[[nodiscard]] std::optional<stats::Interval> steps_interval(double observed, bool of_time,
                                                            std::span<const double> base,
                                                            std::span<const double> candidate);

}  // namespace assay::compare
