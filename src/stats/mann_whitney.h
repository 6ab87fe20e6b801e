#pragma once

#include <optional>
#include <span>

namespace assay::stats {

/// The rank test of two independent samples: whether values of one tend to be larger.
struct MannWhitney {
  double u = 0;        ///< of the first sample: pairs (a, b) with a > b, ties counting one half
  double p_value = 1;  ///< two-sided
  bool exact = false;  ///< from the full distribution; otherwise the normal approximation
  /// u / (n1·n2): the probability that a value of the first sample is the larger one.
  double superiority = 0.5;
};

/// Exact when there are no ties and both samples have at most 20 values; otherwise the normal
/// approximation with tie and continuity correction. When all values are equal, p is 1.
/// Nothing when a sample is empty or a value is not finite.
[[nodiscard]] std::optional<MannWhitney> mann_whitney(std::span<const double> a,
                                                      std::span<const double> b);

}  // namespace assay::stats
