#pragma once

#include <set>
#include <string>

#include "engine/execution_folder.h"
#include "jobs/job_state.h"

namespace assay::engine {

/// What became of an execution whose controller is gone.
struct RunEnding {
  jobs::Event event{};  ///< `exited`, or `engine_error` where it could not be run at all
  std::string lost{};   ///< why its last round had to end: an agent was lost; empty: it was not
  /// Nodes of that round that could not be reached at its end. What ran there was not ended from
  /// here, and may go on for `event.may_run_on`.
  std::set<std::string> unreached{};
  /// No round of it has begun, because its nodes could not be had: nothing of the job ran.
  bool never_began = false;
};

/// By its run directory. `stopped`: the platform has asked for its end. Never throws: what cannot
/// be read has failed.
[[nodiscard]] RunEnding read_ending(const ExecutionFolder& folder, bool stopped);

}  // namespace assay::engine
