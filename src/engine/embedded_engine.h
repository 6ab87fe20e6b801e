#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "engine/embedded_node.h"
#include "engine/engine.h"

namespace assay::engine {

class ExecutionWatch;
class NodeProber;

struct EmbeddedOptions {
  std::vector<EmbeddedNode> nodes{};  ///< at least one, each name once
  std::filesystem::path bindir{};     ///< holds assay and assay-agent
  Json ssh = Json::object();          ///< of remote nodes, as cluster.ssh of a suite
  /// For a controller to begin: a machine may be busy, and its program not in memory yet.
  Nanoseconds begin_limit = std::chrono::seconds(60);
  /// Whether a remote node can be reached; asked now and then, from a thread of its own. Bounded.
  /// Without it all can.
  std::function<bool(const EmbeddedNode&)> reach{};
  /// The command that runs `assay-agent ARGS` on a remote node of a run. Without it nobody can
  /// enter there. Throws Error.
  std::function<std::vector<std::string>(const EmbeddedNode&, const std::filesystem::path& run,
                                         const std::vector<std::string>& args)>
      agent_command{};
};

/// Runs jobs itself, without a scheduler beneath it: every execution is a controller
/// (`assay job-controller`) in a session of its own, which neither needs nor notices the server.
/// docs/dev/engine.md says how they find each other.
class EmbeddedEngine final : public Engine {
 public:
  explicit EmbeddedEngine(EmbeddedOptions options);
  EmbeddedEngine(const EmbeddedEngine&) = delete;
  EmbeddedEngine& operator=(const EmbeddedEngine&) = delete;
  /// What runs goes on.
  ~EmbeddedEngine() override;

  [[nodiscard]] Traits traits() const override;
  void report_to(Reporter reporter) override;
  [[nodiscard]] std::vector<jobs::ClusterNode> nodes() override;
  void start(const Order& order) override;
  void stop(const Execution& execution, Nanoseconds grace) override;
  [[nodiscard]] Planned plan(const Order& order) override;
  [[nodiscard]] std::map<std::string, std::vector<int>> devices_of(
      const Execution& execution) override;
  [[nodiscard]] Way enter(const Execution& execution, const std::string& node,
                          const std::vector<std::string>& args) override;
  void recall(const std::vector<Order>& orders) override;

 private:
  const EmbeddedOptions options_;
  std::unique_ptr<NodeProber> prober_;
  std::unique_ptr<ExecutionWatch> watch_;  // of report_to()
};

}  // namespace assay::engine
