#pragma once

#include <array>
#include <string_view>

#include "core/enum_names.h"

namespace assay::slurm {

/// The states of a job, with Slurm's names (squeue's %T, sacct's State).
enum class JobState {
  unknown,  ///< a state that this list does not have
  pending,
  configuring,  ///< Slurm prepares its nodes
  running,
  suspended,
  resizing,
  stopped,
  signaling,
  stage_out,
  completing,  ///< Slurm ends its processes
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

/// Without `unknown`, which is not a word of Slurm.
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

/// Reads the state that Slurm printed. sacct adds words to some: "CANCELLED by 1000". Pure.
[[nodiscard]] JobState parse_job_state(std::string_view text) noexcept;

/// Whether any part of the job runs or will run. This is assumed for an unknown state, because only
/// Slurm can say that a job has ended.
[[nodiscard]] bool is_active(JobState state) noexcept;

}  // namespace assay::slurm
