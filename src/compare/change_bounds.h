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

/// A violated bound, or one that cannot be checked.
struct Excess {
  std::size_t side = 0;     ///< index of the new side
  std::string case_name{};  ///< empty: about all of them
  std::string metric{};     ///< empty: the case is not compared
  std::string text{};       ///< a sentence without a full stop
};

/// Certain changes for the worse that are larger than a bound, whatever counts as the same; cases
/// or metrics of the base that cannot be compared, or are measured once on each side; metrics that
/// no case has. Empty if there are none, or without a bound.
[[nodiscard]] std::vector<Excess> exceeded(const Comparisons& comparison,
                                           std::span<const Bound> bounds);

}  // namespace assay::compare
