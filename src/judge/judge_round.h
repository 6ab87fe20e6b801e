#pragma once

#include <vector>

#include "judge/evidence.h"
#include "judge/expectations.h"
#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Metrics, findings and verdict of one round. Pure: the same evidence gives the same result.
/// `facts`, if given, receives the facts to which the rules were applied (without the metrics).
[[nodiscard]] RoundResult judge_round(const plan::CasePlan& plan, const RoundEvidence& evidence,
                                      Facts* facts = nullptr);

/// A result that contains only the plan's description of the case.
[[nodiscard]] CaseResult planned_result(const plan::CasePlan& plan);

/// Statistics over the completed rounds, without warm-up rounds, the case's rules and its verdict.
/// `repeats_ended` is the journal's reason why no further round was needed, `expected` the case's
/// baseline. Pure.
[[nodiscard]] CaseResult summarize_case(const plan::CasePlan& plan, std::vector<RoundResult> rounds,
                                        std::string repeats_ended = {},
                                        const std::optional<ExpectedCase>& expected = {});

/// The findings for a round that did not complete: the first failure, and what to do. Empty for a
/// completed round.
[[nodiscard]] std::vector<Finding> status_findings(const plan::CasePlan& plan,
                                                   const RoundEvidence& evidence,
                                                   const RoundResult& result);

}  // namespace assay::judge
