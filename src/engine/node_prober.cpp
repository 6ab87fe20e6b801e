#include "engine/node_prober.h"

#include <algorithm>

#include "core/time.h"

namespace assay::engine {

namespace {

constexpr Nanoseconds kProbeEvery = std::chrono::seconds(30);
constexpr int kFailuresOfLost = 2;

}  // namespace

NodeProber::NodeProber(std::vector<EmbeddedNode> nodes, Reach reach)
    : nodes_(std::move(nodes)), reach_(std::move(reach)) {
  if (reach_ && std::ranges::any_of(nodes_, &EmbeddedNode::remote))
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool NodeProber::available(const EmbeddedNode& node) {
  if (!node.remote || !reach_) return true;
  const std::lock_guard guard(mutex_);
  const auto found = failures_.find(node.name);
  return found != failures_.end() && found->second < kFailuresOfLost;
}

void NodeProber::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    for (const EmbeddedNode& node : nodes_) {
      if (!node.remote || stop.stop_requested()) continue;
      const bool reached = reach_(node);
      const std::lock_guard guard(mutex_);
      if (reached)
        failures_[node.name] = 0;
      else if (const auto known = failures_.find(node.name); known != failures_.end())
        ++known->second;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, kProbeEvery, [] { return false; });
  }
}

}  // namespace assay::engine
