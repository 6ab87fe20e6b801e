#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/expectations.h"
#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Metrics, findings and verdict of one round from its evidence. Pure: the same evidence gives the
/// same result. `facts`, when given, receives what the rules were applied to (without the metrics).
[[nodiscard]] RoundResult judge_round(const plan::CasePlan& plan, const RoundEvidence& evidence,
                                      Facts* facts = nullptr);

/// A result with what the plan says of the case, and nothing else.
[[nodiscard]] CaseResult planned_result(const plan::CasePlan& plan);

/// Statistics over the completed rounds, rules of the case and its verdict; warm-up rounds are in
/// none of them. `repeats_ended`: why the journal says that no further round was needed.
/// `expected`: what the case is held against. Pure.
[[nodiscard]] CaseResult summarize_case(const plan::CasePlan& plan, std::vector<RoundResult> rounds,
                                        std::string repeats_ended = {},
                                        const std::optional<ExpectedCase>& expected = {});

/// The findings about a round that did not complete: what failed first, and what to do. Empty for
/// a completed round.
[[nodiscard]] std::vector<Finding> status_findings(const plan::CasePlan& plan,
                                                   const RoundEvidence& evidence,
                                                   const RoundResult& result);

}  // namespace assay::judge
