#pragma once

#include <string>
#include <vector>

#include "core/time.h"
#include "slurm/slurm_commands.h"

namespace assay::launch {

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
[[nodiscard]] EndWord word_on_end(const slurm::Answer<std::vector<slurm::Job>>& answer,
                                  const std::string& own_job, Nanoseconds since);

}  // namespace assay::launch
