#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"

namespace assay::agent {

// What `assay-agent` does on a node beside the agent that serves a round.

/// Runs the commands of a list of argument lists, one after the other, until one succeeds; their
/// output is this process's. Gives the exit code of the last one that ran (127: not found).
[[nodiscard]] int run_until_one_succeeds(const Json& commands);

/// What all cleanups of a round may take: less than the silence that the controller takes for
/// death.
inline constexpr Nanoseconds kCleanupLimit = std::chrono::seconds(10);

/// Runs a command again and again until it succeeds; false when it has not by `deadline_ns` of the
/// monotonic clock.
[[nodiscard]] bool clean_up(const std::vector<std::string>& command, std::int64_t deadline_ns);

/// Runs clean_up for every one of `commands` (each a list of arguments, as JSON text).
void run_cleanups(const std::vector<std::string>& commands);

}  // namespace assay::agent
