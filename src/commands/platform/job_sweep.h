#pragma once

#include <filesystem>

namespace assay::commands {

/// Ends what is left of the rounds of a run that have no end in its journal, on all of their nodes:
/// processes, control groups and containers; and its agents that nobody is known to have ended. A
/// node that cannot be reached is left to its agent.
void sweep_open_rounds(const std::filesystem::path& run);

}  // namespace assay::commands
