#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "store/run_dir.h"

namespace assay::commands {

/// Runs what is not finished yet, judges it, writes and prints its reports, and gives the exit
/// code. Throws Error when it could not be run; what was measured before is reported all the same.
/// `declared`: launch::RunLoop::declare; `unproven`: launch::RunLoop::go_on_unproven; `secrets`:
/// variables of the ranks that no file may hold.
int execute(const store::RunDir& run, Json declared = nullptr,
            std::vector<std::string> unproven = {},
            const std::map<std::string, std::string>& secrets = {});

/// Prints what ais-bench's stubs print of every round; where there is nothing of that, nothing.
void show_train_records(const store::RunDir& run);

}  // namespace assay::commands
