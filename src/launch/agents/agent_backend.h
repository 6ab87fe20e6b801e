#pragma once

#include <memory>
#include <set>
#include <string>

#include "launch/agents/experiment_host.h"
#include "launch/agents/fleet.h"
#include "launch/agents/round.h"
#include "launch/backend.h"

namespace assay::launch {

/// Rounds on agents that a Launcher brings to the nodes.
class AgentBackend : public Backend {
 public:
  AgentBackend(const BackendContext& context, std::unique_ptr<Launcher> launcher);

  asio::awaitable<void> prepare() override;
  asio::awaitable<Json> describe() override;
  asio::awaitable<Json> device_states() override;
  asio::awaitable<void> prepare_round(const RoundTask& task) override;
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override;
  void interrupt(int times) override;
  asio::awaitable<void> close() override;

 private:
  asio::awaitable<void> compare_clocks();
  asio::awaitable<void> provide_image(const plan::CasePlan& plan_case);

  BackendContext context_;
  const plan::Plan& plan_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Fleet> fleet_;
  std::set<std::string> images_;          // that every node has
  Round* current_ = nullptr;              // the round that is running
  ExperimentHost* experiment_ = nullptr;  // of the current round
};

}  // namespace assay::launch
