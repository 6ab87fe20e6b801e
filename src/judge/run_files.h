#pragma once

#include <vector>

#include "judge/result.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Compares plan.json and system.json with what the journal recorded when the run began, was
/// resumed and wrote them: a run that was killed has no seal to show a change. No findings for runs
/// whose journals record neither.
[[nodiscard]] std::vector<Finding> run_file_findings(const store::RunDir& run,
                                                     const store::JournalReading& journal);

}  // namespace assay::judge
