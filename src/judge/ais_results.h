#pragma once

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// For a round of a case with ais-bench's metrics: reads the files that the job left (the round's
/// folder `results`) and adds their sums or means to those metrics and to the record. A missing or
/// unusable file is a problem in the evidence, and its metrics get no value.
void load_ais_results(const store::RunDir& run, const plan::CasePlan& plan,
                      RoundEvidence& evidence);

/// For a round of a case that uses set_result: reads the reported values and determines when the
/// phases were. If the log has no TRAIN_START and TRAIN_END, the phase `proc` replaces them, so
/// that power and utilization are those of the training.
void load_set_result_calls(const store::RunDir& run, const plan::CasePlan& plan,
                           RoundEvidence& evidence);

/// Whether the case's workload uses set_result: its environment then names the file for it.
[[nodiscard]] bool uses_set_result(const plan::CasePlan& plan);

}  // namespace assay::judge
