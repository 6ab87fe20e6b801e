#pragma once

namespace assay::cloud {

/// A job's state, common to all services.
enum class JobPhase { waiting, running, completed, failed, stopping, stopped, unknown };

/// Whether the phase is final.
[[nodiscard]] constexpr bool has_ended(JobPhase phase) noexcept {
  return phase == JobPhase::completed || phase == JobPhase::failed || phase == JobPhase::stopped;
}

}  // namespace assay::cloud
