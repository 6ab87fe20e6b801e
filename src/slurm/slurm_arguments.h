#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

/// The command lines of Slurm's programs. Everything here is pure.
namespace assay::slurm {

/// Which jobs squeue is asked for; nothing given: all.
struct JobFilter {
  std::optional<unsigned> user{};  ///< by number
  std::string name{};              ///< of the job
  std::string id{};                ///< a component of a heterogeneous job, "17+1", is the whole one
};
/// Ended ones too, as far as slurmctld still knows them; parse_jobs() reads the answer.
[[nodiscard]] std::vector<std::string> squeue_argv(const JobFilter& which);

/// All nodes; parse_nodes() reads the answer.
[[nodiscard]] std::vector<std::string> sinfo_argv();

/// sacct for a job that slurmctld has forgotten; parse_accounting() reads the answer.
[[nodiscard]] std::vector<std::string> sacct_argv(const std::string& id);

/// Nodes that a job, or a component of a heterogeneous one, is to have, with one task on each.
struct AllocationRequest {
  std::string name{};  ///< of the job
  int nodes = 1;
  bool exclusive = false;
  /// Options that are a name and a value ("partition", "gpu"); those without a value are left out.
  std::vector<std::pair<std::string, std::string>> plain{};
  std::vector<std::string> extra{};  ///< further arguments as they are
};
/// What salloc and sbatch take for it.
[[nodiscard]] std::vector<std::string> allocation_options(const AllocationRequest& request);

/// A further step of a job that has its nodes.
struct Step {
  std::string job{};                   ///< empty: the one that srun is started in
  std::optional<int> component{};      ///< of a heterogeneous job
  int nodes = 1;                       ///< one task on each
  std::string host{};                  ///< empty: the first nodes
  std::vector<std::string> options{};  ///< further ones of srun
};
/// The srun of it, beside what runs there and without taking anything from that; the command
/// follows.
[[nodiscard]] std::vector<std::string> srun_argv(const Step& step);

/// A command on one node of a job. `id` may name a component of a heterogeneous job, "17+1".
[[nodiscard]] std::vector<std::string> step_argv(const std::string& id, const std::string& host,
                                                 const std::vector<std::string>& argv);

/// "17" of "17+1", which is a component of a heterogeneous job.
[[nodiscard]] std::string whole_job(const std::string& id);

}  // namespace assay::slurm
