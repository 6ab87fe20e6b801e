#pragma once

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Adds logs and telemetry from the run directory. Parses logs with as many threads as processors
/// (or `threads`, if > 0); the result does not depend on their number. Unreadable files become
/// problems in the evidence. Corrects wrong wall clocks (judge/clock_alignment.h).
void load_files(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                unsigned threads = 0);

}  // namespace assay::judge
