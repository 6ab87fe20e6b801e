#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/slurm_job_state.h"

namespace assay::slurm {

/// A job as squeue shows it.
struct Job {
  std::string id{};
  JobState state = JobState::unknown;
  std::string state_text{};  ///< in Slurm's words, even if this program does not know it
  std::string reason{};      ///< why it is pending
  std::string user{};
  std::string partition{};
  int nodes = 0;              ///< those that it has, or requests
  std::string node_list{};    ///< "n[1-2]"; empty while it has none
  std::int64_t submit_s = 0;  ///< since the Unix epoch; 0 if unknown
  std::int64_t start_s = 0;   ///< likewise; for a pending job, the expected start
  std::int64_t end_s = 0;     ///< likewise; for a running job, the end of its time
  std::string work_folder{};  ///< in which its script starts
  std::string name{};
};

/// The arguments with which squeue prints what parse_jobs() reads: fields separated by a character
/// that no name contains, and times in seconds.
[[nodiscard]] std::string job_format();

/// Skips lines of any other form, because a name may contain anything. Pure.
[[nodiscard]] std::vector<Job> parse_jobs(std::string_view output);

/// The arguments with which sacct prints what parse_accounting() reads.
[[nodiscard]] std::string accounting_format();
/// Number, state, nodes, start and end of a job that slurmctld has forgotten. A requeued job has
/// several lines, of which the last counts. Nothing if the accounting does not know the job. Pure.
[[nodiscard]] std::optional<Job> parse_accounting(std::string_view output);

/// Explains why a job is pending: "the nodes it needs are in use". Empty for an unknown reason.
[[nodiscard]] std::string_view reason_in_words(std::string_view reason) noexcept;

/// "job 17 is pending: Resources (the nodes are in use)"; empty if it is not pending.
[[nodiscard]] std::string describe_pending(const Job& job);

/// Explains an end in this state; empty if the state explains nothing.
[[nodiscard]] std::string describe_end(const Job& job);

}  // namespace assay::slurm
