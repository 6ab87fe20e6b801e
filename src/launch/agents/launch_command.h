#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/subprocess.h"

namespace assay::launch {

/// How a launcher's commands are started: in a session of their own, so that a terminal's Ctrl-C
/// reaches only the controller. Errors are of kind launch at `label`. Such a command ends by itself
/// when its pipes close, and cleans up before.
[[nodiscard]] SpawnOptions command_options(std::vector<std::string> argv, std::string label);

/// Runs a command on the loop: `input` goes to its stdin, every piece of its stdout to `output`. It
/// is killed when `silence` passes without a byte, or when `output` throws (which is rethrown). The
/// result's `err` is the end of what it wrote to stderr, printable. Throws Error of kind launch
/// when it cannot be started.
[[nodiscard]] asio::awaitable<CommandResult> run_process(
    std::vector<std::string> argv, std::string label, std::string input,
    std::function<void(std::string_view)> output, Nanoseconds silence);

}  // namespace assay::launch
