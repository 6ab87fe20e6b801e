#pragma once

#include <string>
#include <vector>

namespace assay::agent {

/// Runs the commands at once as if they were one: `input` goes to all of them, and their lines
/// appear on `output`, each in one piece. Their inputs end with `input`; SIGTERM is passed on to
/// them. Blocks until all have ended; returns the first exit code other than 0. A command that does
/// not read loses its input once too much waits for it, while the others are still served.
int merge_commands(const std::vector<std::vector<std::string>>& commands, int input, int output);

}  // namespace assay::agent
