#pragma once

#include <functional>

#include "store/run_dir.h"

namespace assay::app {

/// Runs what is not finished yet, judges it, writes and prints its reports, and gives the exit
/// code. Throws Error when it could not be run; what was measured before is reported all the same.
/// `before_judging` is called when nothing writes to the run any more.
int execute(const store::RunDir& run, const std::function<void()>& before_judging = {});

/// Prints what ais-bench's stubs print of every round; where there is nothing of that, nothing.
void show_train_records(const store::RunDir& run);

}  // namespace assay::app
