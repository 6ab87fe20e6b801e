#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "slurm/allocation.h"
#include "slurm/job.h"
#include "slurm/slurm_node.h"

/// Slurm's commands. Every call is bounded in time, and blocks until then. A command that this
/// machine cannot start has no answer.
namespace assay::slurm {

/// Why there is no answer, in words: "squeue: no answer within 10 s".
struct NoAnswer {
  std::string words{};
};
template <class T>
using Answer = std::variant<T, NoAnswer>;

/// Jobs of a user (by number), or of all, ended ones too as far as slurmctld still knows them.
[[nodiscard]] Answer<std::vector<Job>> ask_jobs(std::optional<unsigned> user);
[[nodiscard]] Answer<std::vector<Node>> ask_nodes();

struct Submitted {
  std::string id{};
};
/// slurmctld was heard, and will not have it.
struct Refused {
  std::string words{};
};
/// Runs `sbatch ARGS` in exactly this environment ("NAME=value"). After NoAnswer the job may have
/// been taken.
[[nodiscard]] std::variant<Submitted, Refused, NoAnswer> submit(
    const std::vector<std::string>& args, const std::vector<std::string>& environment);

/// To the script of a job alone. False: nothing was heard of slurmctld, or it would not.
[[nodiscard]] bool signal_script(const std::string& id, const std::string& signal);
/// Ends a job: by force, after the time that Slurm gives all jobs. False as above; true also where
/// there is no such job any more.
[[nodiscard]] bool cancel(const std::string& id);

/// Throws Error of kind environment with Slurm's words.
void drain(const std::string& node, const std::string& reason);
void undrain(const std::string& node);

/// Of the job that this process is in. Nothing is thrown: what cannot be learned is left out.
[[nodiscard]] Allocation own_allocation(const std::string& id);

/// A job that slurmctld has forgotten, by Slurm's accounting; nothing where there is none, or it
/// does not know the job either.
[[nodiscard]] std::optional<Job> accounted_job(const std::string& id);

/// "97", the exit code of a job's script that has ended; empty: not known.
[[nodiscard]] std::string exit_code_of(const std::string& id);

/// Pure: a further step on one node of a job, beside what runs there. `id` may name a component of
/// a heterogeneous job, "17+1".
[[nodiscard]] std::vector<std::string> step_argv(const std::string& id, const std::string& host,
                                                 const std::vector<std::string>& argv);

}  // namespace assay::slurm
