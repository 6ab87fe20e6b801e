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
  std::string state_text{};  ///< for people, as Slurm wrote it: also one that is not known
  std::string reason{};      ///< why it is pending
  std::string user{};
  std::string partition{};
  int nodes = 0;              ///< that it has, or asks for
  std::string node_list{};    ///< "n[1-2]"; empty: none yet
  std::int64_t submit_s = 0;  ///< since the Unix epoch; 0: not known
  std::int64_t start_s = 0;   ///< the same; of a pending job, when Slurm expects it to start
  std::int64_t end_s = 0;     ///< the same; of one that has not ended, when its time is over
  std::string work_folder{};  ///< that its script is started in
  std::string name{};
};

/// What squeue is asked, so that parse_jobs() can read its answer: fields are separated by a
/// character that names do not have, and times are seconds.
[[nodiscard]] std::string job_format();

/// Lines that are not of that form are left out: a name may hold anything. Pure.
[[nodiscard]] std::vector<Job> parse_jobs(std::string_view output);

/// What sacct is asked, so that parse_accounting() can read its answer.
[[nodiscard]] std::string accounting_format();
/// Of a job that slurmctld has forgotten: number, state, nodes, start and end. Of a job that was
/// requeued the last line counts. Nothing where accounting does not know it. Pure.
[[nodiscard]] std::optional<Job> parse_accounting(std::string_view output);

/// What a pending job waits for: "the nodes it needs are in use"; empty for a reason that is not
/// known.
[[nodiscard]] std::string_view reason_in_words(std::string_view reason) noexcept;

/// For people: "job 17 is pending: Resources (the nodes are in use)"; empty: it is not pending.
[[nodiscard]] std::string describe_pending(const Job& job);

/// For people: what an end in this state means, or empty when it explains nothing.
[[nodiscard]] std::string describe_end(const Job& job);

}  // namespace assay::slurm
