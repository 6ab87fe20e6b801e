#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"
#include "engine/embedded_node.h"

namespace assay::engine {

/// Asks now and then whether remote nodes can be reached, on a thread of its own. Thread-safe.
class NodeProber {
 public:
  using Reach = std::function<bool(const EmbeddedNode&)>;

  /// Without `reach` all nodes are always there. A node of which it throws was not reached.
  NodeProber(std::vector<EmbeddedNode> nodes, Reach reach,
             Nanoseconds pause = std::chrono::seconds(30));

  /// One that was never reached is not there; one that was may be busy for a moment, and is lost
  /// when it could not be reached twice.
  [[nodiscard]] bool available(const EmbeddedNode& node);

 private:
  void run(const std::stop_token& stop);
  void probe(const EmbeddedNode& node);

  const std::vector<EmbeddedNode> nodes_;
  const Reach reach_;
  const Nanoseconds pause_;
  std::mutex mutex_;
  std::map<std::string, int> failures_;  // by node that was reached: how often not since
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it ends before what it uses
};

}  // namespace assay::engine
