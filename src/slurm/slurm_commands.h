#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/subprocess.h"
#include "core/time.h"
#include "slurm/allocation.h"
#include "slurm/job.h"
#include "slurm/slurm_arguments.h"
#include "slurm/slurm_node.h"

/// Slurm's commands. Every call is bounded in time, and blocks until then. A command that this
/// machine cannot start has no answer.
namespace assay::slurm {

inline constexpr Nanoseconds kCommandLimit = std::chrono::seconds(10);

/// Why there is no answer, in words: "squeue: no answer within 10 s".
struct NoAnswer {
  std::string words{};
  bool not_installed = false;  ///< the program is not on this machine
};
template <class T>
using Answer = std::variant<T, NoAnswer>;

/// Ended ones too, as far as slurmctld still knows them.
[[nodiscard]] Answer<std::vector<Job>> ask_jobs(const JobFilter& which,
                                                Nanoseconds limit = kCommandLimit);
/// What a squeue for these jobs that somebody else ran has said. One that did not get to answer (it
/// was killed with the job that it was to tell of, took too long, or did not reach slurmctld) has
/// not said that there is no such job. Pure.
[[nodiscard]] Answer<std::vector<Job>> read_jobs(const JobFilter& which,
                                                 const CommandResult& result,
                                                 Nanoseconds limit = kCommandLimit);

[[nodiscard]] Answer<std::vector<Node>> ask_nodes();

struct Submitted {
  std::string id{};
};
/// slurmctld was heard, and will not have it.
struct Refused {
  std::string words{};
};
struct SubmitOptions {
  /// Exactly this ("NAME=value"), which sbatch gives to the job; nothing: this process's own.
  std::optional<std::vector<std::string>> environment{};
  Nanoseconds limit = kCommandLimit;
};
/// Runs `sbatch ARGS`. After NoAnswer the job may have been taken.
[[nodiscard]] std::variant<Submitted, Refused, NoAnswer> submit(
    const std::vector<std::string>& args, const SubmitOptions& options = {});

struct Done {};
/// After NoAnswer it may have been done.
using Outcome = std::variant<Done, Refused, NoAnswer>;
[[nodiscard]] inline bool is_done(const Outcome& outcome) {
  return std::holds_alternative<Done>(outcome);
}
[[nodiscard]] inline bool was_heard(const Outcome& outcome) {
  return !std::holds_alternative<NoAnswer>(outcome);
}

/// To the script of a job alone.
[[nodiscard]] Outcome signal_script(const std::string& id, const std::string& signal,
                                    Nanoseconds limit = kCommandLimit);
/// Ends a job: by force, after the time that Slurm gives all jobs. Refused also where there is no
/// such job any more.
[[nodiscard]] Outcome cancel(const std::string& id, Nanoseconds limit = kCommandLimit);

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

}  // namespace assay::slurm
