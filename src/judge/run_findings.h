#pragma once

#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::judge {

/// Flaws in a run's records as a whole: a journal without an end or with unreadable lines. A line
/// torn by a kill or a power failure is only mentioned.
[[nodiscard]] std::vector<Finding> journal_findings(const store::JournalReading& journal);

/// Reads system.json into `system`; what is wrong with it otherwise. `begun`: some round was
/// started, so that it must be there.
[[nodiscard]] std::vector<Finding> read_system(const store::RunDir& run, bool begun, Json& system);

/// Rounds with a result but without lists, which no rule requires, in a sealed run: the seal came
/// later and says nothing about their files.
[[nodiscard]] std::vector<Finding> unlisted_findings(int rounds, const RunSeal& seal);

/// Mentions the suite's cases that these machines could not run, so that nobody misses them.
[[nodiscard]] std::vector<Finding> left_out_findings(const plan::Plan& plan);

}  // namespace assay::judge
