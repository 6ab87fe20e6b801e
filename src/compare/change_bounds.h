#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

/// The allowed extent of a change: "throughput: 2 %".
struct Bound {
  std::string metric;  ///< a metric's name, or "headline", or "throughput"
  double worse_by = 0;
};

/// Parses METRIC: NUMBER %; blanks are optional, the number is from 0 to 1,000,000. Throws Error of
/// kind usage.
[[nodiscard]] Bound parse_bound(const std::string& text);

/// Something that exceeds a bound, or cannot be shown to keep it.
struct Excess {
  std::size_t side = 0;     ///< index of the new side
  std::string case_name{};  ///< empty: concerns all cases
  std::string metric{};     ///< empty: the case is not compared
  std::string text{};       ///< a sentence without a full stop
};

/// The certain changes for the worse that exceed a bound, whatever counts as the same; cases or
/// metrics of the base that cannot be compared; metrics measured only once per side; and metrics
/// that no case has. Empty without any of these, or without a bound.
[[nodiscard]] std::vector<Excess> exceeded(const Comparisons& comparison,
                                           std::span<const Bound> bounds);

}  // namespace assay::compare
