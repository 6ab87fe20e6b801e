#pragma once

#include <span>
#include <string>
#include <vector>

#include "baseline/baseline.h"
#include "judge/result.h"

namespace assay::compare {

using baseline::Baseline;

struct BaselineOptions {
  double tolerance = 0.02;             ///< each range is at least ± this share of its median
  std::vector<std::string> metrics{};  ///< judged in addition to the headlines
  bool judged_only = false;            ///< omits the other metrics
  bool invalid_too = false;            ///< also accepts what is not VALID
};

/// The result of making a baseline, and notes for people.
struct BaselineMaking {
  Baseline baseline;
  std::vector<std::string> notes{};  ///< "matmul: 2 rounds say little about the spread; …"
};

/// The half-width of a range: where 99 % of further rounds are expected if rounds are normally
/// distributed (Student's t · s · √(1 + 1/n), which is wide for few rounds and narrows with more),
/// and at least `tolerance` of the median. With fewer than three values the spread is unknown, and
/// the minimum is a tenth of the median. `values` must be finite and not empty.
[[nodiscard]] double tolerated_half_width(std::span<const double> values, double tolerance);

/// Makes a baseline of these runs: completed rounds of the same case on the same kind of hardware
/// count together. Throws Error of kind usage, naming the run and the case, for a case that is not
/// VALID (unless invalid_too), runs of the same case and hardware with different work or units,
/// unknown hardware, a repeated run, a judged metric that no case has, and an empty result.
[[nodiscard]] BaselineMaking make_baseline(std::span<const judge::RunResult> runs,
                                           const BaselineOptions& options);

}  // namespace assay::compare
