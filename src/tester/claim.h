#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::tester {

/// What a run claims in its result.json: verdicts, the rounds' statuses and metrics,
/// and the summaries' medians.
///   {"run_id", "suite", "verdict", "assay", "result_sha256",
///    "cases": [{"case", "verdict", "summary": {metric: median},
///               "rounds": [{"round", "status", "verdict", "metrics": {metric: value}}]}]}
/// `result_text` may be anything that was written as result.json. Throws Error of kind config.
[[nodiscard]] Json claim_of(const std::string& result_text, const std::string& where);

/// What was claimed and is not so.
struct Difference {
  std::string where;   ///< case, and "round 2"; empty: the run
  std::string metric;  ///< or "verdict", "status", "rounds"
  Json claimed;        ///< null: nothing was
  Json recomputed;     ///< null: the evidence does not give it
};

/// Numbers that differ by no more count as equal. The same evidence gives the same bits with the
/// same build, but sums may be rounded differently by another compiler or processor; 1e-9 is far
/// above that, and a million times below what a benchmark can tell apart.
inline constexpr double kRelativeTolerance = 1e-9;

/// Every verdict, status and metric of `claim` against `recomputed`. Metrics that only the
/// recomputed one has are not a difference: a newer judge may know more. A case, a round or a
/// verdict that is left out is one. Bounded to the first 200.
[[nodiscard]] std::vector<Difference> differences(const Json& claim, const Json& recomputed);

[[nodiscard]] Json to_json(const Difference& difference);

}  // namespace assay::tester
