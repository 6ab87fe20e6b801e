#pragma once

#include "launch/observer.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Writes the seal.json of a run that has ended: nothing of the run's files may change after it. It
/// is signed with the user's key, which is made when there is none; where that does not work it is
/// unsigned, and where it cannot be written there is none, and the observer is told why.
void seal_run(const store::RunDir& run, Observer& observer);

/// Before a run goes on: what was sealed is about to change. Throws Error of kind environment.
void break_seal(const store::RunDir& run);

}  // namespace assay::launch
