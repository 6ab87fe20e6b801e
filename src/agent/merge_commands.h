#pragma once

#include <string>
#include <vector>

namespace assay::agent {

/// Runs the commands at once as if they were one: whatever comes on `input` goes to all of them,
/// and their lines come out on `output`, each whole. When `input` ends, theirs do; SIGTERM is
/// passed on to them. Blocks until all have ended; gives the first exit code that is not 0. One
/// that does not read its input is cut off from it when too much waits for it, and the others are
/// served on.
int merge_commands(const std::vector<std::vector<std::string>>& commands, int input, int output);

}  // namespace assay::agent
