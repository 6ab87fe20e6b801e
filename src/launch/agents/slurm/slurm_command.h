#pragma once

#include <string>
#include <vector>

#include "launch/agents/bundle.h"
#include "plan/launchers/slurm_options.h"

namespace assay::launch {

/// What the agents of a run need from Slurm.
struct SlurmJob {
  std::string name;  ///< of the job: "assay-<run>"
  int nodes = 1;
  std::string allocation;  ///< job id of an existing allocation; empty: one is made
  /// Nodes of each component of a heterogeneous job, made or existing; empty: an ordinary one.
  std::vector<int> components{};
  plan::SlurmOptions options;
  std::string agent;  ///< path on a shared file system
  Bundle bundle;      ///< where there is none: copied to the nodes by sbcast

  [[nodiscard]] bool broadcast() const { return !options.shared; }
};

/// Pure: what salloc and sbatch are asked for.
[[nodiscard]] std::vector<std::string> allocation_options(const SlurmJob& job);

/// Pure: one srun that carries all agents, within an allocation that salloc makes for it and gives
/// back when it ends, or within the existing one. In a heterogeneous job a step gets its input in
/// one component alone: there is one srun for each, and the agent's program makes one of them.
[[nodiscard]] std::vector<std::string> slurm_argv(const SlurmJob& job);

/// The nodes of each component of the heterogeneous job that this process runs in, as Slurm's
/// variables have it; empty: it runs in none. Throws Error of kind environment when they do not fit
/// together.
[[nodiscard]] std::vector<int> own_components();

}  // namespace assay::launch
