#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// Set by the chosen subcommand; returns the exit code. Errors are thrown.
using Action = std::function<int()>;

// Each adds a subcommand (some add several) with its options, help and examples. The list is in
// CMakeLists.txt.
#define ASSAY_COMMAND(name) void add_##name(CLI::App& app, Action& action);
#define ASSAY_FULL_COMMAND(name) ASSAY_COMMAND(name)
#include "command_list.inc"
#undef ASSAY_COMMAND
#undef ASSAY_FULL_COMMAND

/// An operator's commands for a tester's folder: 'assay serve list', 'verify', 'backup' …
void add_tester_admin(CLI::App& serve, Action& action);
/// And for the platform's users: 'assay serve user …'.
void add_serve_users(CLI::App& serve, Action& action);

}  // namespace assay::commands
