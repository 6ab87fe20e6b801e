#pragma once

#include <cstdint>
#include <string>

#include "core/time.h"

namespace assay::emulator {

/// How far a job is, as its runner sees it.
enum class JobStage { pending, running, completed, failed, stopped };

struct JobProgress {
  JobStage stage = JobStage::pending;
  std::int64_t started_ns = 0;  ///< since the epoch; 0 before it runs
  std::int64_t ended_ns = 0;    ///< 0 before it ended
};

struct JobToRun {
  std::string id;
  std::string code_dir;   ///< "/bucket/code/"
  std::string boot_file;  ///< "/bucket/code/train.py"
  int nodes = 1;
};

/// What really runs a job. Calls come from several threads.
class JobRunner {
 public:
  virtual ~JobRunner() = default;
  virtual void start(const JobToRun& job) = 0;
  [[nodiscard]] virtual JobProgress progress(const std::string& id) = 0;
  /// Ends a job that has not ended; the stage is `stopped` afterwards.
  virtual void stop(const std::string& id) = 0;
  /// All that the task has written so far.
  [[nodiscard]] virtual std::string log(const std::string& id, int task) = 0;
};

}  // namespace assay::emulator
