#include "slurm/slurm_job_state.h"

namespace assay::slurm {

JobState parse_job_state(std::string_view text) noexcept {
  const std::string_view name = text.substr(0, text.find_first_of(" +"));
  return parse_enum<JobState>(name).value_or(JobState::unknown);
}

bool is_active(JobState state) noexcept {
  using enum JobState;
  switch (state) {
    case completed:
    case cancelled:
    case failed:
    case timeout:
    case deadline:
    case node_fail:
    case boot_fail:
    case preempted:
    case out_of_memory:
    case revoked:
      return false;
    case unknown:
    case pending:
    case configuring:
    case running:
    case suspended:
    case resizing:
    case stopped:
    case signaling:
    case stage_out:
    case completing:
    case requeued:
    case requeue_fed:
    case requeue_hold:
    case reservation_deleted:
    case special_exit:
      break;
  }
  return true;
}

}  // namespace assay::slurm
