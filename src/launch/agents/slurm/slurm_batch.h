#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::launch {

/// Pure: what sbatch is asked, so that it runs `command` on the first node of an allocation for the
/// whole plan; what that prints goes to `log`.
[[nodiscard]] std::vector<std::string> sbatch_args(const plan::Plan& plan,
                                                   const std::vector<std::string>& command,
                                                   const std::filesystem::path& log);

/// Submits it and gives the job's id. Throws Error: of kind environment without Slurm, of kind
/// config when the nodes would not see the run directory, of kind launch with sbatch's own message.
[[nodiscard]] std::string submit_batch(const plan::Plan& plan,
                                       const std::vector<std::string>& command,
                                       const std::filesystem::path& log);

/// For people: what the job waits for; empty when it does not wait. Bounded.
[[nodiscard]] std::string batch_waits_for(const std::string& job);

/// Asks the job's own process to end, as Ctrl-C would; a job that waits is withdrawn. Throws Error
/// of kind environment with scancel's own message.
void cancel_batch(const std::string& job, bool waiting);

}  // namespace assay::launch
