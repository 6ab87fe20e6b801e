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
  plan::SlurmOptions options;
  std::string agent;  ///< path on a shared file system
  Bundle bundle;      ///< where there is none: copied to the nodes by sbcast

  [[nodiscard]] bool broadcast() const { return !options.shared; }
};

/// Pure: what salloc and sbatch are asked for.
[[nodiscard]] std::vector<std::string> allocation_options(const SlurmJob& job);

/// Pure: one srun that carries all agents, within an allocation that salloc makes for it and gives
/// back when it ends, or within the existing one.
[[nodiscard]] std::vector<std::string> slurm_argv(const SlurmJob& job);

/// Pure: a further step on one node of a job, beside the agents.
[[nodiscard]] std::vector<std::string> slurm_step_argv(const std::string& job_id,
                                                       const std::string& host,
                                                       const std::vector<std::string>& argv);

/// A job as the scheduler knows it.
struct SlurmState {
  std::string id;
  std::string state;   ///< PENDING, RUNNING, CANCELLED, NODE_FAIL, PREEMPTED, …
  std::string reason;  ///< why it is pending
};

/// Pure: asks for the jobs that squeue's options `which` select, ended ones too, as far as the
/// scheduler still knows them; parse_squeue reads the answer.
[[nodiscard]] std::vector<std::string> squeue_argv(std::vector<std::string> which);
/// Asks, and blocks until the answer. Empty when there is none within three seconds.
[[nodiscard]] std::vector<SlurmState> ask_squeue(std::vector<std::string> which);

/// Reads lines of `squeue --format=%i|%T|%r`. Pure.
[[nodiscard]] std::vector<SlurmState> parse_squeue(const std::string& output);

/// For people: "job 17 is pending: Resources (the nodes are in use)". Pure.
[[nodiscard]] std::string describe_pending(const SlurmState& state);

/// For people: what an end in this state means, or empty when it explains nothing. Pure.
[[nodiscard]] std::string describe_end(const SlurmState& state);

}  // namespace assay::launch
