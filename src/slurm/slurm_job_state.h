#pragma once

#include <array>
#include <string_view>

#include "core/enum_names.h"

namespace assay::slurm {

/// The state of a job, by Slurm's names (squeue's %T, sacct's State).
enum class JobState {
  unknown,  ///< of a Slurm that has more states than this list
  pending,
  configuring,  ///< its nodes are being made ready
  running,
  suspended,
  resizing,
  stopped,
  signaling,
  stage_out,
  completing,  ///< its processes are being ended
  requeued,
  requeue_fed,
  requeue_hold,
  reservation_deleted,
  special_exit,
  // Ended:
  completed,
  cancelled,
  failed,
  timeout,
  deadline,
  node_fail,
  boot_fail,
  preempted,
  out_of_memory,
  revoked,
};

/// Without `unknown`, which Slurm never says.
constexpr auto enum_names(JobState) {
  using enum JobState;
  return std::to_array<EnumName<JobState>>({
      {pending, "PENDING"},
      {configuring, "CONFIGURING"},
      {running, "RUNNING"},
      {suspended, "SUSPENDED"},
      {resizing, "RESIZING"},
      {stopped, "STOPPED"},
      {signaling, "SIGNALING"},
      {stage_out, "STAGE_OUT"},
      {completing, "COMPLETING"},
      {requeued, "REQUEUED"},
      {requeue_fed, "REQUEUE_FED"},
      {requeue_hold, "REQUEUE_HOLD"},
      {reservation_deleted, "RESV_DEL_HOLD"},
      {special_exit, "SPECIAL_EXIT"},
      {completed, "COMPLETED"},
      {cancelled, "CANCELLED"},
      {failed, "FAILED"},
      {timeout, "TIMEOUT"},
      {deadline, "DEADLINE"},
      {node_fail, "NODE_FAIL"},
      {boot_fail, "BOOT_FAIL"},
      {preempted, "PREEMPTED"},
      {out_of_memory, "OUT_OF_MEMORY"},
      {revoked, "REVOKED"},
  });
}

/// Of what Slurm printed: sacct adds to some, "CANCELLED by 1000". Pure.
[[nodiscard]] JobState parse_job_state(std::string_view text) noexcept;

/// Whether something of the job runs or will. In a state that is not known it does: only what Slurm
/// says to have ended has ended.
[[nodiscard]] bool is_active(JobState state) noexcept;

}  // namespace assay::slurm
