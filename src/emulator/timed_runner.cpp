#include "emulator/timed_runner.h"

#include <fmt/format.h>

namespace assay::emulator {

void TimedRunner::start(const JobToRun& job) {
  const std::lock_guard lock(mutex_);
  jobs_[job.id] = {wall_now_ns(), 0};
}

JobProgress TimedRunner::progress_of(const Job& job) const {
  const std::int64_t start = job.created_ns + pending_.count();
  const std::int64_t end = start + running_.count();
  const std::int64_t now = wall_now_ns();
  if (job.stopped_ns != 0)
    return {JobStage::stopped, job.stopped_ns > start ? start : 0, job.stopped_ns};
  if (now < start) return {JobStage::pending, 0, 0};
  if (now < end) return {JobStage::running, start, 0};
  return {JobStage::completed, start, end};
}

JobProgress TimedRunner::progress(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return progress_of(jobs_.at(id));
}

void TimedRunner::stop(const std::string& id) {
  const std::lock_guard lock(mutex_);
  Job& job = jobs_.at(id);
  if (progress_of(job).ended_ns == 0) job.stopped_ns = wall_now_ns();
}

std::string TimedRunner::log(const std::string& id, int task) {
  const std::lock_guard lock(mutex_);
  const JobProgress progress = progress_of(jobs_.at(id));
  if (progress.started_ns == 0) return {};
  const std::int64_t until = progress.ended_ns != 0 ? progress.ended_ns : wall_now_ns();
  std::string out;
  for (std::int64_t i = 0; i <= (until - progress.started_ns) / 100'000'000; ++i)
    out += fmt::format("worker-{} tick {}\n", task, i);
  return out;
}

}  // namespace assay::emulator
