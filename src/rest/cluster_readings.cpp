#include "rest/cluster_readings.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/time.h"
#include "telemetry/columns.h"

namespace assay::rest {

namespace {

using telemetry::Column;

constexpr Nanoseconds kFresh = std::chrono::seconds(2);
// What came longer ago says nothing of now: the node is lost, or its samples are far apart.
constexpr Nanoseconds kTooOld = std::chrono::seconds(60);
constexpr Nanoseconds kToLookAtFiles = std::chrono::milliseconds(100);
constexpr int kMostDevices = 512;

jobs::Readings shown(const telemetry::Values& values) {
  const auto known = [&](Column column) {
    const double value = values[column];
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  };
  return {.util = known(Column::util),
          .mem_used_bytes = known(Column::mem_used_bytes),
          .mem_total_bytes = known(Column::mem_total_bytes),
          .power_w = known(Column::power_w),
          .temp_c = known(Column::temp_c)};
}

telemetry::Values source_of(const live::NodeReadings& readings, const std::string& name) {
  const auto found = readings.sources.find(name);
  return found == readings.sources.end() ? telemetry::Values() : found->second;
}

// The node's own, with the power of its management controller, else that of its packages.
telemetry::Values whole_node(const live::NodeReadings& readings) {
  telemetry::Values out = source_of(readings, "node");
  out[Column::power_w] = source_of(readings, "ipmi")[Column::power_w];
  if (std::isfinite(out[Column::power_w])) return out;
  double packages = 0;
  for (int i = 0; readings.sources.contains(fmt::format("rapl{}", i)); ++i)
    packages += source_of(readings, fmt::format("rapl{}", i))[Column::power_w];
  if (packages > 0) out[Column::power_w] = packages;
  return out;
}

}  // namespace

std::map<std::string, live::NodeReadings> ClusterReadings::of(
    platform::Platform& platform, const std::vector<platform::NodeView>& nodes) {
  if (const std::unique_lock alone(looking_, std::try_to_lock);
      alone && (looked_ns_ == 0 || mono_now_ns() - looked_ns_ >= kFresh.count()))
    look(platform, nodes);
  std::map<std::string, live::NodeReadings> out;
  const std::scoped_lock lock(lock_);
  const std::int64_t now_ns = mono_now_ns();
  for (const auto& [node, one] : read_) {
    live::NodeReadings readings = one.readings;
    readings.age += Nanoseconds(now_ns - one.at_ns);
    if (readings.age <= kTooOld) out.emplace(node, std::move(readings));
  }
  return out;
}

void ClusterReadings::look(platform::Platform& platform,
                           const std::vector<platform::NodeView>& nodes) {
  std::map<jobs::JobId, std::int64_t> running;
  for (const platform::NodeView& view : nodes)
    for (const auto& use : view.uses) {
      const auto known = jobs_.find(use.job);
      running[use.job] = known == jobs_.end() ? 0 : known->second;
    }
  jobs_ = std::move(running);
  {
    const std::scoped_lock lock(lock_);
    std::erase_if(read_, [&](const auto& one) { return !jobs_.contains(one.second.job); });
  }
  std::vector<std::pair<std::int64_t, jobs::JobId>> line;
  for (const auto& [job, at_ns] : jobs_) line.emplace_back(at_ns, job);
  std::ranges::sort(line);
  const std::int64_t until_ns = mono_now_ns() + kToLookAtFiles.count();
  for (const auto& [at_ns, job] : line) {
    if (const std::filesystem::path run = platform.run_of(job); !run.empty())
      take(job, live::latest_readings(run));
    jobs_[job] = mono_now_ns();
    if (mono_now_ns() >= until_ns) break;
  }
  looked_ns_ = mono_now_ns();
}

// Every agent measures the whole node: of several the latest counts.
void ClusterReadings::take(jobs::JobId job, std::vector<live::NodeReadings> readings) {
  const std::scoped_lock lock(lock_);
  const std::int64_t now_ns = mono_now_ns();
  for (live::NodeReadings& one : readings) {
    const auto known = read_.find(one.host);
    if (known != read_.end() && known->second.job != job &&
        known->second.readings.age + Nanoseconds(now_ns - known->second.at_ns) < one.age)
      continue;
    const std::string node = one.host;
    read_.insert_or_assign(node, Read{job, now_ns, std::move(one)});
  }
}

jobs::NodeReadings readings_answer(const live::NodeReadings& readings, int devices,
                                   bool of_processors) {
  const char* source = of_processors ? "cpu" : "dev";
  // Where a server may use a part of a machine, its first processor need not be the first core.
  const bool each =
      !of_processors || (readings.sources.contains(fmt::format("cpu{}", devices - 1)) &&
                         !readings.sources.contains(fmt::format("cpu{}", devices)));
  jobs::NodeReadings out{.age_s = static_cast<double>(readings.age.count()) / 1e9,
                         .node = shown(whole_node(readings))};
  for (int i = 0; i < std::min(devices, kMostDevices); ++i)
    out.devices.push_back(
        shown(each ? source_of(readings, fmt::format("{}{}", source, i)) : telemetry::Values()));
  return out;
}

}  // namespace assay::rest
