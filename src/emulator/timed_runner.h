#pragma once

#include <map>
#include <mutex>
#include <string>

#include "emulator/job_runner.h"

namespace assay::emulator {

/// Runs nothing: each job is pending, then running, then completed, for fixed times.
class TimedRunner final : public JobRunner {
 public:
  TimedRunner(Nanoseconds pending, Nanoseconds running) : pending_(pending), running_(running) {}

  void start(const JobToRun& job) override;
  [[nodiscard]] JobProgress progress(const std::string& id) override;
  void stop(const std::string& id) override;
  /// One line per tenth of a second that the job ran.
  [[nodiscard]] std::string log(const std::string& id, int task) override;

 private:
  struct Job {
    std::int64_t created_ns = 0;
    std::int64_t stopped_ns = 0;
  };
  [[nodiscard]] JobProgress progress_of(const Job& job) const;

  const Nanoseconds pending_;
  const Nanoseconds running_;
  std::mutex mutex_;
  std::map<std::string, Job> jobs_;
};

}  // namespace assay::emulator
