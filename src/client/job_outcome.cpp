#include "client/job_outcome.h"

#include "core/error.h"

namespace assay::client {

int outcome_of(const JobRow& job) noexcept {
  if (job.state.is(jobs::State::error)) return exit_code(ErrorKind::launch);
  if (!job.state.is(jobs::State::finished)) return exit_code(ErrorKind::round_failed);
  if (job.verdict == jobs::Verdict::invalid) return exit_code(ErrorKind::invalid);
  return job.verdict == jobs::Verdict::valid ? 0 : exit_code(ErrorKind::round_failed);
}

}  // namespace assay::client
