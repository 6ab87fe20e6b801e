#pragma once

#include <optional>
#include <span>

namespace assay::stats {

/// The rank test of two independent samples: whether one tends to have larger values.
struct MannWhitney {
  double u = 0;        ///< for the first sample: pairs (a, b) with a > b; ties count one half
  double p_value = 1;  ///< two-sided
  bool exact = false;  ///< from the full distribution; otherwise the normal approximation
  /// u / (n1·n2): the probability that the first sample's value is the larger one.
  double superiority = 0.5;
};

/// Exact without ties if both samples have at most 20 values; otherwise the normal approximation
/// with tie and continuity correction. p is 1 if all values are equal. Nothing if a sample is empty
/// or a value is not finite.
[[nodiscard]] std::optional<MannWhitney> mann_whitney(std::span<const double> a,
                                                      std::span<const double> b);

}  // namespace assay::stats
