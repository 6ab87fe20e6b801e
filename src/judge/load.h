#pragma once

#include "judge/evidence.h"
#include "plan/plan.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Adds logs and telemetry from the run directory. Logs are parsed by as many threads as there are
/// processors (`threads` > 0: that many); the result does not depend on their number. What cannot
/// be read becomes a problem in the evidence. Wrong wall clocks are corrected
/// (judge/clock_alignment.h).
void load_files(const store::RunDir& run, const plan::CasePlan& plan, RoundEvidence& evidence,
                unsigned threads = 0);

}  // namespace assay::judge
