#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

/// A bound that a change must not exceed: "throughput: 2 %".
struct Bound {
  std::string metric;  ///< a metric's name, or "headline", or "throughput"
  double worse_by = 0;
};

/// METRIC: NUMBER %; the blanks may be missing, the number is from 0 to 1,000,000. Throws Error of
/// kind usage.
[[nodiscard]] Bound parse_bound(const std::string& text);

/// What does not keep a bound, or cannot be said to.
struct Excess {
  std::size_t side = 0;     ///< which new one
  std::string case_name{};  ///< empty: about all of them
  std::string metric{};     ///< empty: the case is not compared
  std::string text{};       ///< a sentence without a full stop
};

/// A change for the worse that is certain and larger, whatever counts as the same; a case or metric
/// of the base that cannot be compared; one that is measured once on each side; a metric that no
/// case has. Empty when nothing is, or without a bound.
[[nodiscard]] std::vector<Excess> exceeded(const Comparisons& comparison,
                                           std::span<const Bound> bounds);

}  // namespace assay::compare
