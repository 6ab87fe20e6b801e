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

/// Slurm's commands. Every call blocks for a bounded time. A command that this machine cannot start
/// gives NoAnswer.
namespace assay::slurm {

inline constexpr Nanoseconds kCommandLimit = std::chrono::seconds(10);

/// `words` says why: "squeue: no answer within 10 s".
struct NoAnswer {
  std::string words{};
  bool not_installed = false;  ///< the program is not on this machine
};
template <class T>
using Answer = std::variant<T, NoAnswer>;

/// Includes ended jobs that slurmctld still knows.
[[nodiscard]] Answer<std::vector<Job>> ask_jobs(const JobFilter& which,
                                                Nanoseconds limit = kCommandLimit);
/// Reads the result of an squeue for these jobs that another program ran. If that squeue could not
/// answer, because it was killed along with the job, took too long or did not reach slurmctld, this
/// does not mean that the job does not exist. Pure.
[[nodiscard]] Answer<std::vector<Job>> read_jobs(const JobFilter& which,
                                                 const CommandResult& result,
                                                 Nanoseconds limit = kCommandLimit);

[[nodiscard]] Answer<std::vector<Node>> ask_nodes();

struct Submitted {
  std::string id{};
};
/// slurmctld has answered, and refuses.
struct Refused {
  std::string words{};
};
struct SubmitOptions {
  /// The exact environment of sbatch, and thus of the job ("NAME=value"); by default, this
  /// process's own.
  std::optional<std::vector<std::string>> environment{};
  Nanoseconds limit = kCommandLimit;
};
/// Runs `sbatch ARGS`. After NoAnswer, slurmctld may have accepted the job.
[[nodiscard]] std::variant<Submitted, Refused, NoAnswer> submit(
    const std::vector<std::string>& args, const SubmitOptions& options = {});

struct Done {};
/// After NoAnswer, slurmctld may have done it.
using Outcome = std::variant<Done, Refused, NoAnswer>;
[[nodiscard]] inline bool is_done(const Outcome& outcome) {
  return std::holds_alternative<Done>(outcome);
}
[[nodiscard]] inline bool was_heard(const Outcome& outcome) {
  return !std::holds_alternative<NoAnswer>(outcome);
}

/// Signals only the script of a job, not its steps.
[[nodiscard]] Outcome signal_script(const std::string& id, const std::string& signal,
                                    Nanoseconds limit = kCommandLimit);
/// Ends a job, by force after the time that Slurm grants to every job. Slurm also refuses if the
/// job does not exist any more.
[[nodiscard]] Outcome cancel(const std::string& id, Nanoseconds limit = kCommandLimit);

/// Both throw Error of kind environment with Slurm's message.
void drain(const std::string& node, const std::string& reason);
void undrain(const std::string& node);

/// The allocation of the job in which this process runs. Never throws: what Slurm does not say is
/// left out.
[[nodiscard]] Allocation own_allocation(const std::string& id);

/// Asks Slurm's accounting for a job that slurmctld has forgotten; nothing if there is none, or if
/// it does not know the job either.
[[nodiscard]] std::optional<Job> accounted_job(const std::string& id);

/// The exit code of a job's script that has ended ("97"); empty if unknown.
[[nodiscard]] std::string exit_code_of(const std::string& id);

}  // namespace assay::slurm
