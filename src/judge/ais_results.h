#pragma once

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// For a round of a case that has ais-bench's metrics: reads the files that the job left (the
/// round's folder `results`), and gives their sums or means to those metrics and to the record. A
/// file that is missing or unusable is a problem in the evidence, and the metrics stay without
/// value.
void load_ais_results(const store::RunDir& run, const plan::CasePlan& plan,
                      RoundEvidence& evidence);

/// For a round of a case that uses set_result: reads what was reported, and finds out when the
/// phases were. Where the log has no TRAIN_START and TRAIN_END, the phase `proc` stands for them,
/// so that power and utilization are those of the training.
void load_set_result_calls(const store::RunDir& run, const plan::CasePlan& plan,
                           RoundEvidence& evidence);

/// Whether the case's workload uses set_result: its environment names the file for it.
[[nodiscard]] bool uses_set_result(const plan::CasePlan& plan);

}  // namespace assay::judge
