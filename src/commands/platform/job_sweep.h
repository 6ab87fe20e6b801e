#pragma once

#include <filesystem>

namespace assay::commands {

/// Ends the remains of a run's rounds that have no end in its journal, on all of their nodes:
/// processes, control groups and containers, and agents that are not known to have ended. On an
/// unreachable node this is left to its agent.
void sweep_open_rounds(const std::filesystem::path& run);

}  // namespace assay::commands
