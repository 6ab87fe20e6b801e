#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/student.h"

namespace assay::stats {

/// How the level of a second set of measurements compares with a first one's.
struct LevelChange {
  double change = 0;  ///< relative to the first: 0.05 is 5 % more
  /// 95 %, of `change`; nothing if no set has two values, or if a single value differs from others
  /// that are all equal.
  std::optional<Interval> interval{};
  double p_value = 1;              ///< of no change, two-sided; 1 without an interval
  std::optional<double> rank_p{};  ///< Mann-Whitney's, if both sets have at least kRankTestValues
  double superiority = 0.5;        ///< the probability that the second set's value is the larger
  double spread = 0;               ///< relative standard deviation of a single value
  /// The difference in units of the spread, corrected for small-sample bias (Hedges' g); nothing if
  /// there is no spread.
  std::optional<double> effect{};
};

/// From this size on, a rank test of two sets without overlap gives p < 0.05 (2 / C(8, 4)).
inline constexpr std::size_t kRankTestValues = 4;

/// Compares logarithms, so that the change is a ratio of geometric means; plain values if any is
/// not positive. Interval and p-value are Welch's (unequal variances); a set with a single value
/// gets the other's variance. Nothing if a set is empty, a value is not finite, or the first set's
/// mean is 0 and the second's is not.
[[nodiscard]] std::optional<LevelChange> level_change(std::span<const double> first,
                                                      std::span<const double> second);

/// The number of values per set that make the interval of a change no wider than ± `tolerance`, for
/// values of this relative spread; at most `limit`.
[[nodiscard]] int values_to_decide(double spread, double tolerance, int limit = 1000);

/// Holm's correction for multiple tests: adjusted p-values in the same order. Rejecting those below
/// a level keeps the probability of any wrong rejection below that level.
[[nodiscard]] std::vector<double> holm(std::span<const double> p_values);

}  // namespace assay::stats
