#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/run_dir.h"

namespace assay::commands {

/// Runs what is unfinished, judges it, writes and prints its reports, and returns the exit code.
/// Throws Error if it could not run; earlier measurements are still reported. `declared` is
/// launch::RunLoop::declare, `unproven` launch::RunLoop::go_on_unproven.
int execute(const store::RunDir& run, Json declared = nullptr,
            std::vector<std::string> unproven = {},
            const std::map<std::string, std::string>& secrets = {});

/// Prints what ais-bench's stubs print for every round, if there is anything.
void show_train_records(const store::RunDir& run);

}  // namespace assay::commands
