#pragma once

#include "commands/base/extras.h"
#include "commands/base/program.h"

namespace assay::commands {

/// The commands of assay-full: all.
void add_all_commands(CLI::App& app, Action& action);
[[nodiscard]] const Extras& all_extras();

}  // namespace assay::commands
