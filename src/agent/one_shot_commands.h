#pragma once

#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/json.h"
#include "core/time.h"

namespace assay::agent {

// What `assay-agent` does on a node beside the agent that serves a round.

/// Runs the commands of a list of argument lists, one after the other, until one succeeds; their
/// output is this process's. Gives the exit code of the last one that ran (127: not found).
[[nodiscard]] int run_until_one_succeeds(const Json& commands);

/// What all cleanups of a round may take: less than what the controller gives an agent that it has
/// asked to end a round.
inline constexpr Nanoseconds kCleanupLimit = std::chrono::seconds(10);

/// Runs the commands side by side, each again and again until it succeeds or `limit` is over; gives
/// for each of them whether it succeeded. One that is empty has nothing to do.
[[nodiscard]] asio::awaitable<std::vector<bool>> clean_up(
    std::vector<std::vector<std::string>> commands, Nanoseconds limit = kCleanupLimit);

/// clean_up of `commands`, each a list of arguments as JSON text; blocks.
void run_cleanups(const std::vector<std::string>& commands);

}  // namespace assay::agent
