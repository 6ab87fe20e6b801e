#include "launch/agents/slurm/slurm_end.h"

#include <fmt/format.h>

namespace assay::launch {

EndWord word_on_end(const slurm::Answer<std::vector<slurm::Job>>& answer,
                    const std::string& own_job, Nanoseconds since) {
  const auto* jobs = std::get_if<std::vector<slurm::Job>>(&answer);
  if (jobs == nullptr) return {.ask_again = true};
  if (jobs->empty()) return {};
  const slurm::Job& job = jobs->front();
  if (job.state == slurm::JobState::completing) {
    // A job that this controller runs in does not end before it does.
    if (slurm::whole_job(job.id) == own_job)
      return {
          .words = fmt::format(
              "Slurm ends job {}: it was cancelled or pre-empted, or its time is over", own_job)};
    // Why it ends is known when it has ended.
    return {.ask_again = true};
  }
  if (job.state == slurm::JobState::timeout)
    return {.words = slurm::describe_end(job) + "; raise slurm.time"};
  if (slurm::is_active(job.state)) return {.ask_again = since < kStillRunning};
  return {.words = slurm::describe_end(job)};
}

}  // namespace assay::launch
