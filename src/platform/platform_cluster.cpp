#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/text.h"
#include "core/time.h"
#include "platform/platform.h"
#include "platform/platform_state.h"

// The platform's nodes, settings and use.

namespace assay::platform {

namespace {

void must_be_node(const std::vector<jobs::ClusterNode>& nodes, const std::string& name) {
  if (std::ranges::find(nodes, name, &jobs::ClusterNode::name) == nodes.end())
    throw Error(ErrorKind::usage, "there is no node '" + printable(name) + "'");
}

}  // namespace

std::vector<NodeView> Platform::nodes() {
  std::vector<NodeView> out;
  const std::vector<jobs::ClusterNode> nodes = state_->engine->nodes();
  std::vector<jobs::Job> holders;
  {
    const std::lock_guard guard(state_->mutex);
    for (const jobs::ClusterNode& node : nodes) {
      NodeView view{.node = node, .lost = !node.available};
      if (const auto drain = state_->cluster.drains.find(node.name);
          drain != state_->cluster.drains.end()) {
        view.drained = true;
        view.drained_by = drain->second.who;
        view.reason = drain->second.reason;
        view.node.available = false;
      }
      out.push_back(std::move(view));
    }
    holders = state_->store.holding_nodes();
  }
  for (const jobs::Job& job : holders) {
    const auto devices = state_->engine->devices_of({job.id, job.life.attempt});
    for (const jobs::NodeShare& share : job.life.placement) {
      const auto view = std::ranges::find(
          out, share.node, [](const NodeView& one) -> const auto& { return one.node.name; });
      if (view == out.end()) continue;
      const auto indices = devices.find(share.node);
      view->uses.push_back({job.id, job.owner, share.devices,
                            indices == devices.end() ? std::vector<int>{} : indices->second});
    }
  }
  return out;
}

void Platform::drain(const std::string& node, const std::string& reason, const std::string& who) {
  must_be_node(state_->engine->nodes(), node);
  const std::lock_guard guard(state_->mutex);
  ClusterState next = state_->cluster;
  next.drains[node] = {who, reason};
  write_cluster_file(state_->cluster_file, next);
  state_->cluster = std::move(next);
  state_->wake();
}

void Platform::undrain(const std::string& node, const std::string& /*who*/) {
  const std::vector<jobs::ClusterNode> nodes = state_->engine->nodes();
  const std::lock_guard guard(state_->mutex);
  ClusterState next = state_->cluster;
  // A node that is gone may still be drained.
  if (next.drains.erase(node) == 0) must_be_node(nodes, node);
  write_cluster_file(state_->cluster_file, next);
  state_->cluster = std::move(next);
  state_->wake();
}

Settings Platform::settings() {
  const std::lock_guard guard(state_->mutex);
  return state_->cluster.settings;
}

void Platform::change_settings(const Settings& settings, const std::string& /*who*/) {
  Settings next = checked(settings);
  const std::lock_guard guard(state_->mutex);
  ClusterState changed = state_->cluster;
  changed.settings = std::move(next);
  write_cluster_file(state_->cluster_file, changed);
  state_->cluster = std::move(changed);
  state_->wake();
}

std::vector<UsageRow> Platform::usage(jobs::WallTime from_ns, jobs::WallTime to_ns) {
  constexpr double kHour = 3600;
  constexpr double kJoulesPerKwh = 3.6e6;
  constexpr std::size_t kMonthLength = 7;  // "2026-11"
  std::vector<jobs::AttemptUse> uses;
  {
    const std::lock_guard guard(state_->mutex);
    uses = state_->store.uses(from_ns, to_ns);
  }
  std::map<std::tuple<std::string, std::string, std::string, std::string>, UsageRow> rows;
  std::set<std::tuple<std::string, std::string, std::string, std::string, jobs::JobId>> counted;
  for (const jobs::AttemptUse& use : uses) {
    const std::string month = iso_utc(use.to_ns).substr(0, kMonthLength);
    UsageRow& row = rows[{month, use.team, use.user, use.device_type}];
    row.user = use.user;
    row.team = use.team;
    row.month = month;
    row.device_type = use.device_type;
    if (counted.emplace(month, use.team, use.user, use.device_type, use.job).second) ++row.jobs;
    row.device_hours += use.devices * static_cast<double>(use.to_ns - use.from_ns) / 1e9 / kHour;
    row.idle_device_hours += use.idle_device_s / kHour;
    row.energy_kwh += use.energy_j / kJoulesPerKwh;
  }
  std::vector<UsageRow> out;
  for (auto& [key, row] : rows) out.push_back(std::move(row));
  return out;
}

}  // namespace assay::platform
