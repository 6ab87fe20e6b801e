#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_state.h"
#include "platform/platform.h"
#include "telemetry/telemetry_table.h"

namespace assay::platform {

/// Below this share of its time a device counts as idle.
inline constexpr double kIdleBelow = 0.05;

/// What the devices of an attempt did, as far as it was measured.
struct DeviceActivity {
  double idle_device_s = 0;
  double energy_j = 0;
  double watched_device_s = 0;  ///< in which it is known whether they were idle
  jobs::WallTime first_ns = 0;  ///< of the samples; 0: there are none
  jobs::WallTime last_ns = 0;
  jobs::WallTime last_busy_ns = 0;  ///< the last sample in which any of them worked; 0: none did

  void add(const DeviceActivity& other);
};

/// Of the sources "dev<i>" whose number is in `devices` (empty: of all). Gaps in the samples are
/// neither idle nor busy. Pure.
[[nodiscard]] DeviceActivity activity_of(const telemetry::Table& table,
                                         const std::vector<int>& devices);

/// Of all nodes of a run, also while it goes on. `devices` by node; what cannot be read counts for
/// nothing.
[[nodiscard]] DeviceActivity activity_of_run(
    const std::filesystem::path& run, const std::map<std::string, std::vector<int>>& devices);

/// Between two looks at what runs: a quarter of what the policy waits for first, a second at least
/// and five minutes at most; nothing: nobody has to look. Pure.
[[nodiscard]] std::optional<Nanoseconds> pause_between_looks(const IdlePolicy& policy);

/// The event that idle devices are now, if any: idle_warned, idle_limit or idle_cleared.
/// `since_ns`: when the job started. A job whose devices are not measured is never idle. Pure.
[[nodiscard]] std::optional<jobs::EventKind> judge_activity(const DeviceActivity& activity,
                                                            const IdlePolicy& policy, bool warned,
                                                            jobs::WallTime since_ns);

}  // namespace assay::platform
