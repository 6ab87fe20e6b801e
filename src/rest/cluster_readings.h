#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/json.h"
#include "live/latest_readings.h"
#include "platform/platform.h"

namespace assay::rest {

/// What the devices of the cluster do, by what the agents of the jobs that run have measured last:
/// where no job runs, or nothing comes, it is not known. Many who ask at the same time share one
/// look at the files. Thread-safe.
class ClusterReadings {
 public:
  /// By node. Looks anew where the last look is more than two seconds ago.
  [[nodiscard]] std::map<std::string, live::NodeReadings> of(
      platform::Platform& platform, const std::vector<platform::NodeView>& nodes);

 private:
  std::mutex lock_;
  std::int64_t looked_ns_ = 0;
  std::map<std::string, live::NodeReadings> readings_;
};

/// {"age_s", "node": {…}, "devices": [{"util", "mem_used_bytes", "mem_total_bytes", "power_w",
/// "temp_c"}, …]}, null for what is not known; null where nothing is. Of a node whose processors
/// are its devices, each is a core where all of them are measured.
[[nodiscard]] Json readings_json(const live::NodeReadings* readings, int devices,
                                 bool of_processors);

}  // namespace assay::rest
