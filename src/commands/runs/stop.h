#pragma once

#include <string>

namespace assay::commands {

/// Asks the run's controller to end, like Ctrl-C, and waits for it; `at_once` is like a double
/// Ctrl-C. Throws Error if it does not end. Returns the exit code of `assay stop`.
int stop_run(const std::string& path, bool at_once);

}  // namespace assay::commands
