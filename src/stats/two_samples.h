#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/student.h"

namespace assay::stats {

/// How the level of a second set of measurements relates to that of a first one.
struct LevelChange {
  double change = 0;  ///< relative to the first: 0.05 is 5 % more
  /// 95 %, of `change`; nothing when no set has two values, or when a single value differs from
  /// others that are all equal.
  std::optional<Interval> interval{};
  double p_value = 1;              ///< of no change, two-sided; 1 without an interval
  std::optional<double> rank_p{};  ///< Mann-Whitney's, where both sets have kRankTestValues or more
  double superiority = 0.5;        ///< the probability that a value of the second set is the larger
  double spread = 0;               ///< relative standard deviation of one value
  /// The difference in units of the spread, without its bias for small sets (Hedges' g); nothing
  /// when there is no spread.
  std::optional<double> effect{};
};

/// From here on a rank test of two sets that do not overlap gives p < 0.05 (2 / C(8, 4)).
inline constexpr std::size_t kRankTestValues = 4;

/// Compares logarithms, so that the change is a ratio of geometric means; plain values where one is
/// not positive. Interval and p-value are Welch's (unequal variances); a set of one value is taken
/// to have the other's variance. Nothing when a set is empty, a value is not finite, or the first
/// set's mean is 0 and the second's is not.
[[nodiscard]] std::optional<LevelChange> level_change(std::span<const double> first,
                                                      std::span<const double> second);

/// The number of values in each set with which the interval of a change would be no wider than
/// ± `tolerance`, for values of this relative spread; at most `limit`.
[[nodiscard]] int values_to_decide(double spread, double tolerance, int limit = 1000);

/// Holm's correction for testing all of them: adjusted p-values, in the same order. Rejecting those
/// below a level makes any wrong rejection no more probable than that level.
[[nodiscard]] std::vector<double> holm(std::span<const double> p_values);

}  // namespace assay::stats
