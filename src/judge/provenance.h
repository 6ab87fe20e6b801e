#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Versions, hashes and overrides of a run, for `provenance` in result.json. `skipped` is the
/// number of journal lines that could not be read.
[[nodiscard]] Json provenance_of(const plan::Plan& plan, std::size_t skipped);

/// States how often a node ran a program or container image (`program_changes`), or code
/// (`code_changes`), that differs from the case's first round with a record of it.
void state_changes(const std::vector<RoundResult>& rounds, Facts& facts);

/// Adds a case's effective configuration and the rules in force, each with its origin, and how
/// these differ from the standard: the differences in the plan, and relaxations that the plan does
/// not mention, by the standard of this program.
void add_configuration(const plan::Plan& plan, const plan::CasePlan& case_plan, CaseResult& result);

/// Begins the origin of a difference that exists only because the rule is newer than the plan.
inline constexpr std::string_view kNotInPlan = "not in the plan, which Assay";

}  // namespace assay::judge
