#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "judge/round_journal.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// The cases that were passed over, by the newest `case_skipped` that no round of the case follows.
[[nodiscard]] std::map<std::string, Skip> skipped_cases(const std::vector<Json>& events);

/// The result of a case that was passed over: no rounds, INCOMPLETE, and a note with the reason.
[[nodiscard]] CaseResult skipped_result(const plan::CasePlan& plan, const Skip& skip);

/// Why the condition does not hold for that case; nothing: it does. A metric that is not known is
/// in no bounds. Pure.
[[nodiscard]] std::optional<std::string> unmet(const plan::Condition& condition,
                                               const CaseResult& result);

/// The names of the plan's cases that a condition is about: a case, or all points of a sweep.
[[nodiscard]] std::vector<std::string> cases_of(const plan::Plan& plan, const std::string& name);

/// The rule of findings about what a hook wrote.
inline constexpr std::string_view kHookEvidence = "hook-evidence";

/// How the hooks of a case ("": those around all) ended, from the journal and their evidence. What
/// failed, and what should have been run and was not, becomes a finding of the run; so does
/// evidence of theirs that was changed.
[[nodiscard]] std::vector<HookResult> judge_hooks(const store::RunDir& run,
                                                  const RoundJournal& journal,
                                                  const std::vector<plan::Hook>& hooks,
                                                  const std::string& case_name,
                                                  std::vector<Finding>& findings);

/// Whoever skips a case must have had a reason that the evidence shows: a case of `result` that was
/// passed over without one gets a finding. `result` has all cases and hooks.
void check_skips(const plan::Plan& plan, RunResult& result);

}  // namespace assay::judge
