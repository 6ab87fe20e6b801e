#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "jobs/cluster_answers.h"
#include "live/latest_readings.h"
#include "platform/platform.h"

namespace assay::rest {

/// What the devices of the cluster do, by what the agents of the jobs that run there have measured
/// last: where no job runs, or nothing comes, it is not known. However many ask, one of them looks
/// at the files, for a tenth of a second at most: of thousands of jobs those come first that were
/// not looked at for longest. Thread-safe.
class ClusterReadings {
 public:
  /// By node.
  [[nodiscard]] std::map<std::string, live::NodeReadings> of(
      platform::Platform& platform, const std::vector<platform::NodeView>& nodes);

 private:
  struct Read {
    jobs::JobId job = 0;
    std::int64_t at_ns = 0;  ///< by the clock that nobody sets
    live::NodeReadings readings{};
  };
  void look(platform::Platform& platform, const std::vector<platform::NodeView>& nodes);
  void take(jobs::JobId job, std::vector<live::NodeReadings> readings);

  std::mutex looking_;
  std::int64_t looked_ns_ = 0;
  std::map<jobs::JobId, std::int64_t> jobs_;  ///< that run: when each was looked at
  std::mutex lock_;                           ///< over what has been read; taken last
  std::map<std::string, Read> read_;          ///< by node
};

/// Of a node whose processors are its devices, each is a core where all of them are measured.
[[nodiscard]] jobs::NodeReadings readings_answer(const live::NodeReadings& readings, int devices,
                                                 bool of_processors);

}  // namespace assay::rest
