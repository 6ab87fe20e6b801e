#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace assay::commands {

/// Set by the subcommand that was chosen; gives the exit code. Errors are thrown.
using Action = std::function<int()>;

// Each adds one subcommand (some add several) with its options, help and examples. The list is in
// CMakeLists.txt.
#define ASSAY_COMMAND(name) void add_##name(CLI::App& app, Action& action);
#include "command_list.inc"
#undef ASSAY_COMMAND

/// What an operator does with a tester's folder: 'assay serve list', 'verify', 'backup' …
void add_tester_admin(CLI::App& serve, Action& action);
/// And with the users of the platform: 'assay serve user …'.
void add_serve_users(CLI::App& serve, Action& action);

}  // namespace assay::commands
