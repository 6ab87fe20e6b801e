#pragma once

#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::judge {

/// What is wrong with the records of a run as a whole: a journal that does not end or that has
/// lines that cannot be read. A line that a kill or a power failure tore is only said.
[[nodiscard]] std::vector<Finding> journal_findings(const store::JournalReading& journal);

/// Reads system.json into `system`; what is wrong with it otherwise. `begun`: some round was
/// started, so that it must be there.
[[nodiscard]] std::vector<Finding> read_system(const store::RunDir& run, bool begun, Json& system);

/// Rounds with a result but without lists, which no rule asks for, in a run that is sealed: the
/// seal came after them, and says nothing about their files.
[[nodiscard]] std::vector<Finding> unlisted_findings(int rounds, const RunSeal& seal);

/// Cases of the suite that these machines could not run: said, so that nobody misses them.
[[nodiscard]] std::vector<Finding> left_out_findings(const plan::Plan& plan);

}  // namespace assay::judge
