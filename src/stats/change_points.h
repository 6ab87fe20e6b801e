#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::stats {

/// A change in the level of a series.
struct ChangePoint {
  std::size_t at = 0;  ///< index of the first value of the new level
  double before = 0;   ///< median from the previous change (or the beginning) to this one
  double after = 0;    ///< median from here to the next change (or the end)

  /// Relative to the previous level: 0.05 is 5 % more.
  [[nodiscard]] double change() const;
};

struct ChangeOptions {
  /// The probability of a mark in a series, or a part between two changes, without a change.
  double false_rate = 0.01;
  double least_change = 0.01;  ///< relative; smaller ones are not marked
};

/// The shortest level, in values: anything shorter counts as outliers.
inline constexpr std::size_t kMinLevel = 3;

/// Finds where the level of `values` (finite, in order) changed:
///
/// 1. More than 256 values are reduced to 256 groups of neighbors, each represented by its median.
/// 2. Values are clipped at six robust standard deviations around the median (from the median
///    absolute difference of neighbors), which limits the influence of outliers.
/// 3. The level changes at all if at most a share `false_rate` of 999 random orders of the same
///    values has a split with as large a difference of the means; this assumes nothing about their
///    distribution. If the residuals after the split depend on their predecessors, blocks of
///    neighbors are permuted instead of values. A level that comes back is tested likewise, with
///    the gain of the whole segmentation.
/// 4. The places are those of the segmentation with the smallest sum of squares, in which each
///    change costs 3·ln(n) noise variances; the same is done within each segment, and for the last
///    256 values alone, so that a recent change does not get lost in groups.
/// 5. Each change is tested again between its neighbors; the medians of both sides must differ too,
///    by 2.5 standard errors and by `least_change`.
///
/// The same values give the same changes. Fewer than eight values have none. Takes about O(n) plus
/// 999 times 256 steps for each change.
[[nodiscard]] std::vector<ChangePoint> find_changes(std::span<const double> values,
                                                    const ChangeOptions& options = {});

}  // namespace assay::stats
