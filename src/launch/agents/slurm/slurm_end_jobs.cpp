// The allocations of a run that nobody gave back: their controller was killed, or their salloc, or
// that saw one component end.

#include <set>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "launch/agents/slurm/slurm_launcher.h"
#include "slurm/slurm_commands.h"

namespace assay::launch {

void SlurmLauncher::do_end_jobs(const std::set<std::string>& jobs) const {
  std::set<std::string> whole;
  for (const std::string& job : jobs) whole.insert(slurm::whole_job(job));
  for (const std::string& id : whole) {
    if (id == job_.allocation) continue;
    const auto answer = slurm::ask_jobs({.id = id});
    const auto* found = std::get_if<std::vector<slurm::Job>>(&answer);
    if (found == nullptr) return;  // Slurm is away: what the job holds is waited for
    for (const slurm::Job& job : *found) {
      // A number may have been given anew, and an allocation that assay was started in is its
      // owner's: only what was made for this run has its name.
      if (job.name != job_.name || !slurm::is_active(job.state)) continue;
      (void)slurm::cancel(id);
      break;
    }
  }
}

// salloc gives an allocation back as a whole, when it ends by itself. When a component of a
// heterogeneous one is cancelled, it ends and leaves the others; when it was killed, or slurmctld
// is away, all stays.
std::string SlurmLauncher::do_give_back() const {
  if (!job_.allocation.empty()) return {};
  const auto not_known = [this](const std::string& why) {
    return fmt::format(
        "it is not known whether Slurm has the run's nodes back ({}): look with 'squeue "
        "--name={}', "
        "and end what is there with 'scancel --name={}'",
        why, job_.name, job_.name);
  };
  const auto answer = slurm::ask_jobs({.name = job_.name});
  if (const auto* silence = std::get_if<slurm::NoAnswer>(&answer))
    return silence->not_installed ? "" : not_known(silence->words);
  std::set<std::string> left;
  for (const slurm::Job& job : std::get<std::vector<slurm::Job>>(answer))
    if (job.name == job_.name && slurm::is_active(job.state) &&
        job.state != slurm::JobState::completing)
      left.insert(slurm::whole_job(job.id));
  for (const std::string& id : left)
    if (const auto outcome = slurm::cancel(id);
        const auto* silence = std::get_if<slurm::NoAnswer>(&outcome))
      return not_known(silence->words);
  return {};
}

}  // namespace assay::launch
