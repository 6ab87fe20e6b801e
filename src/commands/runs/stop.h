#pragma once

#include <string>

namespace assay::commands {

/// Asks the run's controller to end, as Ctrl-C would, and waits for it; `at_once`: as Ctrl-C twice.
/// Throws Error when it does not end. Gives the exit code of `assay stop`.
int stop_run(const std::string& path, bool at_once);

}  // namespace assay::commands
