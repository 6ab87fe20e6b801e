#pragma once

#include <filesystem>
#include <memory>

#include "engine/engine.h"
#include "engine/slurm_job.h"

namespace assay::engine {

class SlurmOverview;
class SlurmWatch;

struct SlurmEngineOptions {
  std::filesystem::path bindir{};  ///< holds assay and assay-agent, on all nodes
  SlurmTarget target{};            ///< of jobs whose queue says nothing else
};

/// Jobs are Slurm's: an execution is a batch job that runs `assay job-controller` on the first node
/// of its allocation. Partitions, priorities, preemption and the states of nodes are Slurm's own.
/// The folders of executions lie on a file system that all nodes share.
/// docs/dev/engine.md says how server, Slurm and controller find each other.
class SlurmEngine final : public Engine {
 public:
  explicit SlurmEngine(SlurmEngineOptions options);
  SlurmEngine(const SlurmEngine&) = delete;
  SlurmEngine& operator=(const SlurmEngine&) = delete;
  /// What runs or waits goes on.
  ~SlurmEngine() override;

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
  [[nodiscard]] std::string waits_for(jobs::JobId job) override;
  [[nodiscard]] std::optional<jobs::WallTime> expected_start(jobs::JobId job) override;
  [[nodiscard]] std::vector<std::string> queues() override;
  [[nodiscard]] std::map<std::string, NodeStanding> standings() override;
  [[nodiscard]] std::vector<OtherJob> others() override;
  [[nodiscard]] std::string trouble() override;
  void drain(const std::string& node, const std::string& reason) override;
  void undrain(const std::string& node) override;
  void recall(const std::vector<Order>& orders) override;

 private:
  const SlurmEngineOptions options_;
  std::unique_ptr<SlurmOverview> overview_;  // of report_to()
  std::unique_ptr<SlurmWatch> watch_;        // of report_to(); uses the overview
};

}  // namespace assay::engine
