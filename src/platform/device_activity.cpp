#include "platform/device_activity.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/run_layout.h"

namespace assay::platform {

namespace {

namespace fs = std::filesystem;

// Samples that are further apart have a gap between them.
constexpr double kMaxStep = 60;

std::optional<int> device_number(const std::string& source) {
  if (!source.starts_with("dev")) return std::nullopt;
  return parse_number<int>(std::string_view(source).substr(3), 0);
}

/// "<host>_noderank<i>" → host.
std::string host_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name.substr(0, name.rfind("_noderank"));
}

}  // namespace

void DeviceActivity::add(const DeviceActivity& other) {
  idle_device_s += other.idle_device_s;
  energy_j += other.energy_j;
  watched_device_s += other.watched_device_s;
  if (other.first_ns != 0)
    first_ns = first_ns == 0 ? other.first_ns : std::min(first_ns, other.first_ns);
  last_ns = std::max(last_ns, other.last_ns);
  last_busy_ns = std::max(last_busy_ns, other.last_busy_ns);
}

DeviceActivity activity_of(const telemetry::Table& table, const std::vector<int>& devices) {
  using telemetry::Column;
  DeviceActivity out;
  std::vector<const telemetry::Row*> before(table.sources.size(), nullptr);
  for (const telemetry::Row& row : table.rows) {
    const std::optional<int> number = device_number(table.sources[row.source]);
    if (!number || (!devices.empty() && std::ranges::find(devices, *number) == devices.end()))
      continue;
    const double util = row[Column::util];
    if (std::isfinite(util)) {
      if (out.first_ns == 0) out.first_ns = row.wall_ns;
      out.last_ns = std::max(out.last_ns, row.wall_ns);
      if (util >= kIdleBelow) out.last_busy_ns = std::max(out.last_busy_ns, row.wall_ns);
    }
    const telemetry::Row* last = std::exchange(before[row.source], &row);
    if (last == nullptr) continue;
    const double step_s = static_cast<double>(row.mono_ns - last->mono_ns) / 1e9;
    if (step_s <= 0 || step_s > kMaxStep) continue;
    if (std::isfinite(util)) out.watched_device_s += step_s;
    if (std::isfinite(util) && util < kIdleBelow) out.idle_device_s += step_s;
    if (const double power = row[Column::power_w]; std::isfinite(power) && power >= 0)
      out.energy_j += power * step_s;
  }
  return out;
}

DeviceActivity activity_of_run(const fs::path& run,
                               const std::map<std::string, std::vector<int>>& devices) {
  DeviceActivity out;
  std::error_code ec;
  for (fs::recursive_directory_iterator at(run, ec), end; !ec && at != end; at.increment(ec)) {
    if (at->path().filename() != layout::kTelemetry || !at->is_regular_file(ec)) continue;
    const auto of_node = devices.find(host_of(at->path().parent_path()));
    try {
      out.add(activity_of(telemetry::read_table(at->path()),
                          of_node == devices.end() ? std::vector<int>{} : of_node->second));
    } catch (const Error&) {
      continue;
    }
  }
  return out;
}

std::optional<Nanoseconds> pause_between_looks(const IdlePolicy& policy) {
  std::int64_t first_s = std::max(policy.warn_s, policy.stop_s);
  if (first_s <= 0) return std::nullopt;
  for (const std::int64_t wait_s : {policy.warn_s, policy.stop_s})
    if (wait_s > 0) first_s = std::min(first_s, wait_s);
  return std::chrono::seconds(std::clamp<std::int64_t>(first_s / 4, 1, 300));
}

std::optional<jobs::EventKind> judge_activity(const DeviceActivity& activity,
                                              const IdlePolicy& policy, bool warned,
                                              jobs::WallTime since_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (activity.last_ns == 0) return std::nullopt;
  const jobs::WallTime busy_ns = std::max({activity.last_busy_ns, activity.first_ns, since_ns});
  // By the samples, not by the clock: what is not measured now is not idle now.
  const std::int64_t idle_s = (activity.last_ns - busy_ns) / kSecond;
  if (policy.stop_s > 0 && idle_s >= policy.stop_s) return jobs::EventKind::idle_limit;
  if (policy.warn_s > 0 && idle_s >= policy.warn_s)
    return warned ? std::nullopt : std::optional(jobs::EventKind::idle_warned);
  if (warned) return jobs::EventKind::idle_cleared;
  return std::nullopt;
}

}  // namespace assay::platform
