#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/subprocess.h"
#include "core/time.h"
#include "slurm/job.h"

namespace assay::launch {

/// Pure: the jobs that squeue named; nothing: it did not get to answer (it was killed with the job
/// that it was to tell of, took too long, or did not reach slurmctld), which is no answer "there is
/// no such job".
[[nodiscard]] std::optional<std::vector<slurm::Job>> squeue_answer(const CommandResult& result);

/// What is to be said about the end of a job's ranks or agents.
struct EndWord {
  bool ask_again = false;  ///< it is not known yet
  std::string words{};     ///< Slurm's reason, for people; empty: it has none
};

/// How long a job may look as if nothing was wrong with it after its processes were killed: the
/// signals may be there before squeue shows why.
inline constexpr Nanoseconds kStillRunning = std::chrono::seconds(2);

/// Pure: what squeue's answer, `since` the first question, says about the end of what ran in the
/// job. `own_job` is the job that this controller runs in, or empty.
[[nodiscard]] EndWord word_on_end(const std::optional<std::vector<slurm::Job>>& answer,
                                  const std::string& own_job, Nanoseconds since);

}  // namespace assay::launch
