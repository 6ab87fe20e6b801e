#pragma once

#include "commands/base/commands.h"

namespace assay::commands {

/// Adds the commands of a program.
using AddCommands = void (*)(CLI::App& app, Action& action);

/// The commands of `assay`: all of them are listed, and those that it does not have itself go on as
/// assay-full.
void add_own_commands(CLI::App& app, Action& action);

/// main() of `assay` and of assay-full; returns the exit code.
int run_program(int argc, char** argv, AddCommands add_commands);

}  // namespace assay::commands
