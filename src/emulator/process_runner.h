#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/process.h"
#include "emulator/emulator_settings.h"
#include "emulator/job_faults.h"
#include "emulator/job_instance.h"
#include "emulator/job_runner.h"
#include "emulator/obs_store.h"

namespace assay::emulator {

/// Runs jobs as processes of this machine, below Settings::root / "jobs". A failing process ends
/// the job; nothing that a job started outlives it or this object, except processes that dropped
/// the job's environment. Settings limit the CPU time of a process, the time of a job, and the
/// number of processes at once (a job stays pending until there is room).
class ProcessRunner final : public JobRunner {
 public:
  /// The arguments must outlive this.
  ProcessRunner(const Settings& settings, ObsStore& store, JobFaults& faults);
  ~ProcessRunner() override;

  void start(const JobToRun& job) override;
  [[nodiscard]] JobProgress progress(const std::string& id) override;
  void stop(const std::string& id) override;
  [[nodiscard]] std::string log(const std::string& id, int task) override;

 private:
  struct Job {
    JobToRun spec;
    std::string mark;  // in the environment of its processes
    std::filesystem::path folder;
    std::optional<JobFault> fault;
    JobProgress progress;
    bool stop = false;
    std::thread thread;
  };
  struct Process {
    Child child;
    int task = 0;
  };
  /// How an attempt to run the job ended.
  struct Ending {
    JobStage stage = JobStage::completed;
    std::vector<TaskEnd> tasks;
    bool again = false;  // must be run again
  };

  void run(Job& job);
  bool wait_for_turn(Job& job, int processes);
  Ending run_once(Job& job, std::vector<JobInstance>& instances);
  void spawn_all(const Job& job, const std::vector<JobInstance>& instances,
                 std::vector<Process>& living) const;
  void watch(Job& job, std::vector<JobInstance>& instances, std::vector<Process>& living,
             Ending& ending);
  /// Returns true if the job must end now.
  bool meet_fault(const Job& job, const std::vector<Process>& living, Ending& ending) const;
  void finish(Job& job, JobStage stage, std::vector<TaskEnd> tasks);

  const Settings& settings_;
  ObsStore& store_;
  JobFaults& faults_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::unique_ptr<Job>> jobs_;
  int living_ = 0;  // processes that jobs have now
};

}  // namespace assay::emulator
