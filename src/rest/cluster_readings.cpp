#include "rest/cluster_readings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/time.h"
#include "telemetry/columns.h"

namespace assay::rest {

namespace {

using telemetry::Column;

constexpr Nanoseconds kFresh = std::chrono::seconds(2);
// What came longer ago says nothing of now: the node is lost, or its samples are far apart.
constexpr Nanoseconds kTooOld = std::chrono::seconds(60);
constexpr std::array kShown{Column::util, Column::mem_used_bytes, Column::mem_total_bytes,
                            Column::power_w, Column::temp_c};
constexpr int kMostDevices = 512;

Json values_json(const telemetry::Values& values) {
  Json out = Json::object();
  for (const Column column : kShown) {
    const double value = values[column];
    out[std::string(telemetry::info(column).name)] = std::isfinite(value) ? Json(value) : Json();
  }
  return out;
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
  const std::scoped_lock lock(lock_);
  const std::int64_t now_ns = mono_now_ns();
  if (looked_ns_ != 0 && now_ns - looked_ns_ < kFresh.count()) return readings_;
  readings_.clear();
  std::set<jobs::JobId> running;
  for (const platform::NodeView& view : nodes)
    for (const auto& use : view.uses) running.insert(use.job);
  for (const jobs::JobId job : running) {
    const std::filesystem::path run = platform.run_of(job);
    if (run.empty()) continue;
    for (live::NodeReadings& one : live::latest_readings(run)) {
      if (one.age > kTooOld) continue;
      // Every agent measures the whole node: of several the latest counts.
      const auto known = readings_.find(one.host);
      if (known == readings_.end() || one.age < known->second.age)
        readings_.insert_or_assign(one.host, std::move(one));
    }
  }
  looked_ns_ = mono_now_ns();
  return readings_;
}

Json readings_json(const live::NodeReadings* readings, int devices, bool of_processors) {
  if (readings == nullptr) return {};
  const char* source = of_processors ? "cpu" : "dev";
  // Where a server may use a part of a machine, its first processor need not be the first core.
  const bool each =
      !of_processors || (readings->sources.contains(fmt::format("cpu{}", devices - 1)) &&
                         !readings->sources.contains(fmt::format("cpu{}", devices)));
  Json list = Json::array();
  for (int i = 0; i < std::min(devices, kMostDevices); ++i)
    list.push_back(values_json(each ? source_of(*readings, fmt::format("{}{}", source, i))
                                    : telemetry::Values()));
  return {{"age_s", static_cast<double>(readings->age.count()) / 1e9},
          {"node", values_json(whole_node(*readings))},
          {"devices", list}};
}

}  // namespace assay::rest
