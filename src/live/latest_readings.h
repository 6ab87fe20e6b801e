#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/time.h"
#include "telemetry/columns.h"

namespace assay::live {

/// What a node of a run that goes on has measured last.
struct NodeReadings {
  std::string host{};  ///< as the run's journal names it
  Nanoseconds age{0};  ///< since it came here, by this machine's clock
  std::map<std::string, telemetry::Values> sources{};  ///< "node", "dev0", …
};

/// Of the round that runs now; reads the end of each file alone, however long the run is. What
/// cannot be read is not there.
[[nodiscard]] std::vector<NodeReadings> latest_readings(const std::filesystem::path& run);

}  // namespace assay::live
