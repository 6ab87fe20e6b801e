#include "engine/node_prober.h"

#include <algorithm>
#include <exception>

#include "core/time.h"

namespace assay::engine {

namespace {

constexpr int kFailuresOfLost = 2;

}  // namespace

NodeProber::NodeProber(std::vector<EmbeddedNode> nodes, Reach reach, Nanoseconds pause)
    : nodes_(std::move(nodes)), reach_(std::move(reach)), pause_(pause) {
  if (reach_ && std::ranges::any_of(nodes_, &EmbeddedNode::remote))
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

bool NodeProber::available(const EmbeddedNode& node) {
  if (!node.remote || !reach_) return true;
  const std::lock_guard guard(mutex_);
  const auto found = failures_.find(node.name);
  return found != failures_.end() && found->second < kFailuresOfLost;
}

void NodeProber::probe(const EmbeddedNode& node) {
  bool reached = false;
  try {
    reached = reach_(node);
  } catch (const std::exception&) {
    // This machine cannot start ssh, say: then it cannot start jobs there either.
  }
  const std::lock_guard guard(mutex_);
  if (const auto known = failures_.find(node.name); known != failures_.end())
    known->second = reached ? 0 : known->second + 1;
  else if (reached)
    failures_.emplace(node.name, 0);
}

void NodeProber::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    for (const EmbeddedNode& node : nodes_) {
      if (!node.remote || stop.stop_requested()) continue;
      try {
        probe(node);
      } catch (const std::exception&) {
        // No memory to write down that it was reached for the first time: it is asked again.
      }
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, pause_, [] { return false; });
  }
}

}  // namespace assay::engine
