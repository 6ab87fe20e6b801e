#include "engine/node_prober.h"

#include <algorithm>
#include <exception>

#include "core/time.h"

namespace assay::engine {

namespace {

constexpr int kFailuresOfLost = 2;
// One that could not be reached once is asked again sooner than the others.
constexpr int kSooner = 6;
constexpr std::size_t kThreads = 16;

}  // namespace

NodeProber::NodeProber(const std::vector<EmbeddedNode>& nodes, Reach reach, Nanoseconds pause)
    : reach_(std::move(reach)), pause_(pause) {
  if (!reach_) return;
  for (const EmbeddedNode& node : nodes)
    if (node.remote) nodes_.emplace(node.name, Probed{node, kFailuresOfLost});
  for (std::size_t i = 0; i < std::min(nodes_.size(), kThreads); ++i)
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

bool NodeProber::available(const EmbeddedNode& node) {
  const std::lock_guard guard(mutex_);
  const auto found = nodes_.find(node.name);
  return found == nodes_.end() ||
         (found->second.failures < kFailuresOfLost && mono_now_ns() >= found->second.busy_until_ns);
}

void NodeProber::doubt(const std::string& node, Nanoseconds may_run_on) {
  const std::lock_guard guard(mutex_);
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  found->second.failures = kFailuresOfLost;
  ++found->second.doubts;
  found->second.busy_until_ns =
      std::max(found->second.busy_until_ns, mono_now_ns() + may_run_on.count());
  found->second.next_ns = 0;
  changed_.notify_all();
}

void NodeProber::probe(Probed& one, std::unique_lock<std::mutex>& lock) {
  const int doubts = one.doubts;
  one.asked = true;
  lock.unlock();
  bool reached = false;
  try {
    reached = reach_(one.node);
  } catch (const std::exception&) {
    // This machine cannot start ssh, say: then it cannot start jobs there either.
  }
  lock.lock();
  one.asked = false;
  if (one.doubts != doubts) return;  // it may have answered before: it is asked again at once
  one.failures = reached ? 0 : std::min(one.failures + 1, kFailuresOfLost);
  const bool in_doubt = one.failures > 0 && one.failures < kFailuresOfLost;
  one.next_ns = mono_now_ns() + (in_doubt ? pause_ / kSooner : pause_).count();
}

NodeProber::Probed* NodeProber::next() {
  Probed* first = nullptr;
  for (auto& [name, one] : nodes_)
    if (!one.asked && (first == nullptr || one.next_ns < first->next_ns)) first = &one;
  return first;
}

void NodeProber::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    Probed* const one = next();
    const std::int64_t wait_ns = one == nullptr ? pause_.count() : one->next_ns - mono_now_ns();
    if (one != nullptr && wait_ns <= 0)
      probe(*one, lock);
    else  // wakes for what is doubted, which may be another one
      changed_.wait_for(lock, stop, Nanoseconds(wait_ns), [&] {
        const Probed* const due = next();
        return due != nullptr && due->next_ns <= mono_now_ns();
      });
  }
}

}  // namespace assay::engine
