#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Versions, hashes and overrides of a run: result.json's `provenance`. `skipped`: lines of the
/// journal that could not be read.
[[nodiscard]] Json provenance_of(const plan::Plan& plan, std::size_t skipped);

/// States how often a node ran another program or container image (`program_changes`), and other
/// code (`code_changes`), than in the case's first round that has it recorded.
void state_changes(const std::vector<RoundResult>& rounds, Facts& facts);

/// The effective configuration of a case and the rules in force, each with its origin, and how
/// these differ from the standard: what the plan says about that, and what it does not say and is
/// relaxed by the standard that this program was built with.
void add_configuration(const plan::Plan& plan, const plan::CasePlan& case_plan, CaseResult& result);

/// The beginning of the origin of a difference that only means that the rule is newer than the
/// plan.
inline constexpr std::string_view kNotInPlan = "not in the plan, which Assay";

}  // namespace assay::judge
