// The allocations of a run that nobody gave back: their controller was killed, or salloc saw one
// component end.

#include <set>
#include <string>
#include <variant>
#include <vector>

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

// salloc gives an allocation back as a whole. When a component of a heterogeneous one is cancelled,
// it ends, and leaves the others.
void SlurmLauncher::do_give_back(const std::set<std::string>& jobs) const {
  if (!job_.components.empty()) do_end_jobs(jobs);
}

}  // namespace assay::launch
