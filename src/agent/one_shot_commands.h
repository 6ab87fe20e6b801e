#pragma once

#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/json.h"
#include "core/time.h"

namespace assay::agent {

// The commands of `assay-agent` on a node apart from serving rounds.

/// Runs a list of commands (lists of arguments) in order until one succeeds; their output is this
/// process's. Returns the exit code of the last one that ran (127: not found).
[[nodiscard]] int run_until_one_succeeds(const Json& commands);

/// The time limit for all cleanups of a round; less than the controller waits for an agent that it
/// asked to end a round.
inline constexpr Nanoseconds kCleanupLimit = std::chrono::seconds(10);

/// Runs the commands side by side, repeating each until it succeeds or `limit` is over; returns
/// whether each succeeded. An empty command has nothing to do.
[[nodiscard]] asio::awaitable<std::vector<bool>> clean_up(
    std::vector<std::vector<std::string>> commands, Nanoseconds limit = kCleanupLimit);

/// Runs clean_up for `commands`, each a list of arguments as JSON text. Blocks.
void run_cleanups(const std::vector<std::string>& commands);

}  // namespace assay::agent
