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

/// The skipped cases, from the newest `case_skipped` that no round of the case follows.
[[nodiscard]] std::map<std::string, Skip> skipped_cases(const std::vector<Json>& events);

/// The result of a skipped case: no rounds, INCOMPLETE, and a note with the reason.
[[nodiscard]] CaseResult skipped_result(const plan::CasePlan& plan, const Skip& skip);

/// Why the condition does not hold for that case; nothing if it does. An unknown metric is within
/// no bounds. Pure.
[[nodiscard]] std::optional<std::string> unmet(const plan::Condition& condition,
                                               const CaseResult& result);

/// The plan's cases that a condition refers to: a case, or all points of a sweep.
[[nodiscard]] std::vector<std::string> cases_of(const plan::Plan& plan, const std::string& name);

/// The rule name for findings about a hook's evidence.
inline constexpr std::string_view kHookEvidence = "hook-evidence";

/// How the hooks of a case ("": those around all cases) ended, from the journal and their evidence.
/// Hooks that failed, or did not run although they should have, become findings of the run; so does
/// changed evidence of theirs.
[[nodiscard]] std::vector<HookResult> judge_hooks(const store::RunDir& run,
                                                  const RoundJournal& journal,
                                                  const std::vector<plan::Hook>& hooks,
                                                  const std::string& case_name,
                                                  std::vector<Finding>& findings);

/// A case may only be skipped for a reason that the evidence shows: a case of `result` that was
/// skipped without one gets a finding. `result` must have all cases and hooks.
void check_skips(const plan::Plan& plan, RunResult& result);

}  // namespace assay::judge
