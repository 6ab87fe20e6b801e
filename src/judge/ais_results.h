#pragma once

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// For a round of a case that has ais-bench's metrics: reads the files that the job left (the
/// round's folder `results`), and gives their sums or means to those metrics. A file that is
/// missing or unusable is a problem in the evidence, and the metrics stay without value.
void load_ais_results(const store::RunDir& run, const plan::CasePlan& plan,
                      RoundEvidence& evidence);

}  // namespace assay::judge
