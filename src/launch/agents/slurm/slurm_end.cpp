#include "launch/agents/slurm/slurm_end.h"

#include <fmt/format.h>

namespace assay::launch {

std::optional<std::vector<slurm::Job>> squeue_answer(const CommandResult& result) {
  std::vector<slurm::Job> jobs = slurm::parse_jobs(result.out);
  // A job that slurmctld has forgotten is an error to squeue.
  if (result.ok() || !jobs.empty() || result.err.find("Invalid job id") != std::string::npos)
    return jobs;
  return std::nullopt;
}

EndWord word_on_end(const std::optional<std::vector<slurm::Job>>& answer,
                    const std::string& own_job, Nanoseconds since) {
  if (!answer) return {.ask_again = true};
  if (answer->empty()) return {};
  const slurm::Job& job = answer->front();
  if (job.state == "COMPLETING") {
    // A job that this controller runs in does not end before it does.
    if (job.id.substr(0, job.id.find('+')) == own_job)
      return {
          .words = fmt::format(
              "Slurm ends job {}: it was cancelled or pre-empted, or its time is over", own_job)};
    // Why it ends is known when it has ended.
    return {.ask_again = true};
  }
  if (job.state == "TIMEOUT") return {.words = slurm::describe_end(job) + "; raise slurm.time"};
  if (slurm::is_active(job.state)) return {.ask_again = since < kStillRunning};
  return {.words = slurm::describe_end(job)};
}

}  // namespace assay::launch
