#pragma once

#include <vector>

#include "judge/result.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::judge {

/// plan.json and system.json against what the journal recorded when the run began, went on and
/// wrote them. A run that was killed has no seal that could show it. Runs of versions whose
/// journals record neither: nothing.
[[nodiscard]] std::vector<Finding> run_file_findings(const store::RunDir& run,
                                                     const store::JournalReading& journal);

}  // namespace assay::judge
