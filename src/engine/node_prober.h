#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "engine/embedded_node.h"

namespace assay::engine {

/// Asks now and then whether remote nodes can be reached, several at a time, on threads of its own:
/// one that takes long to answer keeps no other waiting. Thread-safe.
class NodeProber {
 public:
  using Reach = std::function<bool(const EmbeddedNode&)>;

  /// Without `reach` all nodes are always there. A node of which it throws was not reached.
  NodeProber(const std::vector<EmbeddedNode>& nodes, Reach reach,
             Nanoseconds pause = std::chrono::seconds(30));

  /// One that was never reached is not there; one that was may be busy for a moment, and is lost
  /// when it could not be reached twice.
  [[nodiscard]] bool available(const EmbeddedNode& node);
  /// Something that ran there was lost, or could not be started: the node is not there until it was
  /// reached by an attempt that begins from now on, and it is asked at once. Nor is it there while
  /// what was lost `may_run_on`.
  void doubt(const std::string& node, Nanoseconds may_run_on = Nanoseconds(0));

 private:
  struct Probed {
    EmbeddedNode node;
    int failures;        // since it was reached
    bool asked = false;  // right now
    int doubts = 0;
    std::int64_t busy_until_ns = 0;
    std::int64_t next_ns = 0;  // when it is to be asked, by the monotonic clock
  };

  void run(const std::stop_token& stop);
  [[nodiscard]] Probed* next();
  void probe(Probed& one, std::unique_lock<std::mutex>& lock);

  const Reach reach_;
  const Nanoseconds pause_;
  std::mutex mutex_;
  std::map<std::string, Probed> nodes_;  // those that are remote
  std::condition_variable_any changed_;
  std::vector<std::jthread> threads_;  // last: they end before what they use
};

}  // namespace assay::engine
