#pragma once

#include <span>
#include <string_view>

#include <CLI/CLI.hpp>

#include "commands/base/commands.h"

namespace assay::commands {

/// A command that only assay-full can run. `assay` lists it with the others and goes on as
/// assay-full when it is called.
struct KnownCommand {
  const char* adder;  ///< its name in CMakeLists.txt
  const char* name;
  const char* what;  ///< its line in --help
  bool shown = true;
};
[[nodiscard]] std::span<const KnownCommand> known_commands();

/// Adds the subcommand `name` with its line in --help.
CLI::App* add_known(CLI::App& app, std::string_view name);

/// Adds the commands of add_`adder`, which only assay-full can run.
void add_known_of(CLI::App& app, Action& action, std::string_view adder);
/// Whether a command was added so: its options are unknown here.
[[nodiscard]] bool is_elsewhere(const CLI::App& command);

}  // namespace assay::commands
