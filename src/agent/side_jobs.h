#pragma once

#include <string>
#include <vector>

#include "core/json.h"

namespace assay::agent {

// What `assay-agent` does on a node beside the agent that serves a round.

/// Runs the commands of a list of argument lists, one after the other, until one succeeds; their
/// output is this process's. Gives the exit code of the last one that ran (127: not found).
[[nodiscard]] int run_until_one_succeeds(const Json& commands);

/// Runs every one of `commands` (each a list of arguments, as JSON text), bounded each.
void run_cleanups(const std::vector<std::string>& commands);

}  // namespace assay::agent
