#pragma once

#include <string>
#include <vector>

#include "judge/repeat_state.h"
#include "judge/result.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Computes all metrics and verdicts of a run from the evidence in its directory alone: the same
/// evidence gives the same result. Missing or damaged evidence becomes a finding. Throws Error only
/// when plan.json or the journal cannot be read at all.
[[nodiscard]] RunResult judge_run(const store::RunDir& run);

/// Whether a run still matches the records made during the measurement.
struct EvidenceCheck {
  RunSeal seal;  ///< as in the result of judge_run()
  /// Every file that was changed, removed or added, and the reason if the seal does not fit.
  std::vector<std::string> faults{};
  /// invalid: something was changed; incomplete: the seal is missing or unsigned.
  Validity validity = Validity::valid;
};

/// Checks the seal and every listed file of every round without judging. Throws like judge_run().
[[nodiscard]] EvidenceCheck check_evidence(const store::RunDir& run);

/// The state of a case that repeats until its result is certain, from the rounds begun in the run's
/// directory. Throws Error when the journal cannot be read at all.
[[nodiscard]] RepeatState repeats_so_far(const store::RunDir& run, const plan::CasePlan& case_plan);

/// Why a case with CasePlan::only_if must not run, given the run's directory so far; nothing if all
/// its conditions hold. Throws Error when the journal cannot be read at all.
[[nodiscard]] std::optional<std::string> unmet_condition(const store::RunDir& run,
                                                         const plan::CasePlan& case_plan);

}  // namespace assay::judge
