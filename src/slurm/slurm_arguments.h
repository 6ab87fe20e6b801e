#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The command lines of Slurm's programs. All functions are pure.
namespace assay::slurm {

/// The jobs to ask squeue for; by default all.
struct JobFilter {
  std::optional<unsigned> user{};  ///< a user id
  std::string name{};              ///< of the job
  std::string id{};                ///< "17+1", a component, stands for its whole heterogeneous job
};
/// Includes ended jobs that slurmctld still knows; parse_jobs() reads the answer.
[[nodiscard]] std::vector<std::string> squeue_argv(const JobFilter& which);

/// Asks for all nodes; parse_nodes() reads the answer.
[[nodiscard]] std::vector<std::string> sinfo_argv();

/// Asks sacct for a job that slurmctld has forgotten; parse_accounting() reads the answer.
[[nodiscard]] std::vector<std::string> sacct_argv(const std::string& id);

/// The nodes to request for a job, or for a component of a heterogeneous one, with a task on each.
struct AllocationRequest {
  std::string name{};  ///< of the job
  int nodes = 1;
  bool exclusive = false;
  /// Options with a name and a value ("partition", "gpu"); those with an empty value are omitted.
  std::vector<std::pair<std::string, std::string>> plain{};
  std::vector<std::string> extra{};  ///< further arguments, unchanged
};
/// The arguments of salloc and sbatch for it.
[[nodiscard]] std::vector<std::string> allocation_options(const AllocationRequest& request);

/// A further step of a job that already has its nodes.
struct Step {
  std::string job{};                   ///< empty: the job in which srun runs
  std::optional<int> component{};      ///< of a heterogeneous job
  int nodes = 1;                       ///< with one task on each
  std::string host{};                  ///< empty: the first nodes of the job
  std::vector<std::string> options{};  ///< further options of srun
};
/// The srun for it, which runs beside other steps and takes no resources from them. The caller
/// appends the command.
[[nodiscard]] std::vector<std::string> srun_argv(const Step& step);

/// Runs a command on one node of a job. `id` may name a component of a heterogeneous job, "17+1".
[[nodiscard]] std::vector<std::string> step_argv(const std::string& id, const std::string& host,
                                                 const std::vector<std::string>& argv);

/// Returns "17" for "17+1", a component of a heterogeneous job.
[[nodiscard]] std::string whole_job(const std::string& id);

}  // namespace assay::slurm
