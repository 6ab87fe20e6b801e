#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/time.h"

namespace assay::emulator {

/// A job's state according to its runner. A `lost` job was taken away (preempted).
enum class JobStage { pending, running, stopping, completed, failed, stopped, lost };

/// ModelArts's names for a stage: the number of v1's JOBSTAT_*, and v2's phase.
struct StageName {
  int v1;
  std::string_view v2;
};
[[nodiscard]] constexpr StageName stage_name(JobStage stage) noexcept {
  constexpr std::array<StageName, 7> kNames{{{7, "Pending"},
                                             {8, "Running"},
                                             {9, "Terminating"},
                                             {10, "Completed"},
                                             {11, "Failed"},
                                             {12, "Terminated"},
                                             {14, "Abnormal"}}};
  return kNames[static_cast<std::size_t>(stage)];
}

/// How an instance's processes ended.
struct TaskEnd {
  int exit_code = 0;  ///< the first nonzero one; 128 + signal
  std::string message;
};

struct JobProgress {
  JobStage stage = JobStage::pending;
  std::int64_t started_ns = 0;   ///< since the epoch; 0 before it runs
  std::int64_t ended_ns = 0;     ///< 0 until it ends
  int restarts = 0;              ///< how often it was taken away and restarted
  std::vector<TaskEnd> tasks{};  ///< by instance; empty until they end
};

/// An input or output: a name, and its place in OBS ("/bucket/folder/").
struct JobData {
  std::string name;
  std::string url;
};

struct JobToRun {
  std::string id;
  std::string name;
  std::string code_dir;   ///< "/bucket/code/"
  std::string boot_file;  ///< "/bucket/code/train.py"
  std::string command{};  ///< for a job with its own image, replaces the boot file
  int nodes = 1;
  int cards = 0;          ///< per node
  bool per_card = false;  ///< start the boot file once per card instead of once per node
  std::vector<std::pair<std::string, std::string>> parameters{};
  std::vector<JobData> inputs{};
  std::vector<JobData> outputs{};
  std::map<std::string, std::string> environment{};
  std::vector<std::string> logs{};  ///< for every node's log; may be empty
  Nanoseconds time_limit{};         ///< the job's own; 0 = none
};

/// Runs jobs. Called from several threads.
class JobRunner {
 public:
  virtual ~JobRunner() = default;
  virtual void start(const JobToRun& job) = 0;
  [[nodiscard]] virtual JobProgress progress(const std::string& id) = 0;
  /// Ends a job that has not ended; its stage is then `stopping` or `stopped`.
  virtual void stop(const std::string& id) = 0;
  /// The task's entire output so far.
  [[nodiscard]] virtual std::string log(const std::string& id, int task) = 0;
};

}  // namespace assay::emulator
