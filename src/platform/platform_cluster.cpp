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
  const std::map<std::string, engine::NodeStanding> standings = state_->engine->standings();
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
      if (const auto standing = standings.find(node.name); standing != standings.end()) {
        view.state = standing->second.state;
        view.drained = standing->second.drained;
        view.drained_by = standing->second.by;
        view.reason = standing->second.reason;
        view.lost = !node.available && !view.drained;
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
  if (state_->engine->traits().drains) return state_->engine->drain(node, reason);
  const std::lock_guard guard(state_->mutex);
  ClusterState next = state_->cluster;
  next.drains[node] = {who, reason};
  write_cluster_file(state_->cluster_file, next);
  state_->cluster = std::move(next);
  state_->wake();
}

void Platform::undrain(const std::string& node) {
  const std::vector<jobs::ClusterNode> nodes = state_->engine->nodes();
  if (state_->engine->traits().drains) {
    must_be_node(nodes, node);
    return state_->engine->undrain(node);
  }
  const std::lock_guard guard(state_->mutex);
  ClusterState next = state_->cluster;
  // A node that is gone may still be drained.
  if (next.drains.erase(node) == 0) must_be_node(nodes, node);
  write_cluster_file(state_->cluster_file, next);
  state_->cluster = std::move(next);
  state_->wake();
}

std::string Platform::trouble() {
  return state_->engine->trouble();
}

std::vector<engine::OtherJob> Platform::others() {
  return state_->engine->others();
}

std::vector<jobs::Queue> Platform::queues() {
  const std::lock_guard guard(state_->mutex);
  return state_->queues();
}

Settings Platform::settings() {
  const std::lock_guard guard(state_->mutex);
  return state_->cluster.settings;
}

void Platform::change_settings(const Settings& settings) {
  Settings next = checked(settings);
  const std::lock_guard guard(state_->mutex);
  ClusterState changed = state_->cluster;
  changed.settings = std::move(next);
  write_cluster_file(state_->cluster_file, changed);
  state_->cluster = std::move(changed);
  state_->wake();
}

void Platform::reconsider() {
  const std::lock_guard guard(state_->mutex);
  state_->wake();
}

std::vector<UsageRow> Platform::usage(jobs::WallTime from_ns, jobs::WallTime to_ns) {
  const std::vector<jobs::AttemptUse> running = state_->running_uses();
  const std::scoped_lock lock(state_->usage_mutex);
  return state_->usage.sums(from_ns, to_ns, running);
}

}  // namespace assay::platform
