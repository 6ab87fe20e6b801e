#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::tester {

/// A run's claims in its result.json: verdicts, the rounds' statuses and metrics, and the
/// summaries' medians.
///   {"run_id", "suite", "verdict", "assay", "result_sha256",
///    "cases": [{"case", "verdict", "summary": {metric: median},
///               "rounds": [{"round", "status", "verdict", "metrics": {metric: value}}]}]}
/// `result_text` is not trusted. Throws Error of kind config.
[[nodiscard]] Json claim_of(const std::string& result_text, const std::string& where);

/// A claim that is not true.
struct Difference {
  std::string where;   ///< case, and "round 2"; empty: the whole run
  std::string metric;  ///< or "verdict", "status", "rounds"
  Json claimed;        ///< null: not claimed
  Json recomputed;     ///< null: not supported by the evidence
};

/// Numbers with a smaller relative difference count as equal. The same build computes the same bits
/// from the same evidence, but another compiler or processor may round sums differently; 1e-9 is
/// far above that, and a million times below what a benchmark can distinguish.
inline constexpr double kRelativeTolerance = 1e-9;

/// Compares every verdict, status and metric of `claim` with `recomputed`. Metrics that only the
/// recomputed result has are not a difference, because a newer judge may know more; an omitted
/// case, round or verdict is. Limited to the first 200.
[[nodiscard]] std::vector<Difference> differences(const Json& claim, const Json& recomputed);

[[nodiscard]] Json to_json(const Difference& difference);

}  // namespace assay::tester
