#pragma once

#include <span>
#include <string>
#include <vector>

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

using baseline::Baseline;

struct BaselineOptions {
  double tolerance = 0.02;             ///< no range is narrower than ± this share of its median
  std::vector<std::string> metrics{};  ///< judged besides the headlines
  bool judged_only = false;            ///< leaves the other metrics out
  bool invalid_too = false;            ///< also takes results that are not VALID
};

/// The result, with notes for people.
struct BaselineMaking {
  Baseline baseline;
  std::vector<std::string> notes{};  ///< "matmul: 2 rounds say little about the spread; …"
};

/// The half-width of a range: 99 % of further rounds are expected in it if rounds are normally
/// distributed (Student's t · s · √(1 + 1/n), which is wide for few rounds and narrows with more),
/// and at least `tolerance` of the median. With fewer than three values the spread is unknown:
/// then at least a tenth of the median. `values` are finite and not empty.
[[nodiscard]] double tolerated_half_width(std::span<const double> values, double tolerance);

/// The baseline of these runs: completed rounds of the same case on the same kind of hardware
/// count together. Throws Error of kind usage, naming the run and the case, for a case that is not
/// VALID (unless invalid_too), for runs of one case and hardware that did other work or have other
/// units, for hardware that is not known, for the same run twice, for a judged metric that no case
/// has, and when nothing is left.
[[nodiscard]] BaselineMaking make_baseline(std::span<const judge::RunResult> runs,
                                           const BaselineOptions& options);

}  // namespace assay::compare
