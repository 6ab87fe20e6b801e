#pragma once

#include <string>
#include <vector>

#include "judge/repeat_state.h"
#include "judge/result.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Computes every metric and verdict of a run from the evidence in its directory, and nothing else:
/// the same evidence gives the same result. Missing or damaged evidence becomes a finding.
/// Throws Error only when plan.json or the journal cannot be read at all.
[[nodiscard]] RunResult judge_run(const store::RunDir& run);

/// Whether a run is unchanged since it was measured.
struct EvidenceCheck {
  RunSeal seal;  ///< as in the result of judge_run()
  /// Every file that was changed, removed or added; why the seal does not match.
  std::vector<std::string> faults{};
  /// invalid: something was changed; incomplete: there is no seal, or nobody signed it.
  Validity validity = Validity::valid;
};

/// Checks the seal, and every listed file of every round, without judging anything. Throws as
/// judge_run().
[[nodiscard]] EvidenceCheck check_evidence(const store::RunDir& run);

/// The progress of a case that is repeated until its result is certain, from the rounds in the
/// run's directory that were begun. Throws Error if the journal cannot be read at all.
[[nodiscard]] RepeatState repeats_so_far(const store::RunDir& run, const plan::CasePlan& case_plan);

/// Why a case with CasePlan::only_if must not be run, from the contents of the run's directory so
/// far; nothing: all of its conditions hold. Throws Error if the journal cannot be read at all.
[[nodiscard]] std::optional<std::string> unmet_condition(const store::RunDir& run,
                                                         const plan::CasePlan& case_plan);

}  // namespace assay::judge
