#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "launch/preconditions.h"
#include "store/journal.h"
#include "store/run_dir.h"

namespace assay::launch {

// What the run as a whole has in its journal and in system.json.

/// The record of a run's start: who executes it, where, and what it was planned from.
[[nodiscard]] Json run_start(const store::RunDir& run);

/// system.json: what ran, started by which launcher, what the nodes are, and what was declared
/// about them (null: nothing).
void write_system(const store::RunDir& run, store::Journal& journal, Json nodes,
                  const Json& declared);

/// Puts the devices' state after the run beside that of before it.
void add_states_after(const store::RunDir& run, store::Journal& journal, const Json& states);

/// Nothing is written where there are no reasons.
void note_unproven(store::Journal& journal, const std::vector<std::string>& reasons);

/// The last round of each case that was ever started.
[[nodiscard]] std::map<std::string, int> last_started(const std::vector<Json>& journal);

/// Marks the rounds of the run that failed, timed out, stalled or could not be recorded as
/// to be run again, in the journal, and gives how many those are: the next RunLoop runs them,
/// whenever that is. Throws Error when the run is being executed, or the journal cannot be written.
/// `unproven`: as of RunLoop::go_on_unproven.
int reopen_failed_rounds(const store::RunDir& run, const std::vector<std::string>& unproven = {});

/// The rounds that need no further run: (case, round) → status. A failed round is a result, unless
/// it was reopened; an interrupted, lost or never started one is not.
[[nodiscard]] RoundStatuses finished_rounds(const std::vector<Json>& journal);

}  // namespace assay::launch
