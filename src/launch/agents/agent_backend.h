#pragma once

#include <memory>
#include <set>
#include <string>

#include "launch/agents/experiment_host.h"
#include "launch/agents/fleet.h"
#include "launch/agents/host_pool.h"
#include "launch/agents/left_agents.h"
#include "launch/agents/round.h"
#include "launch/backend.h"

namespace assay::launch {

/// Rounds on agents that a Launcher brings to the nodes.
class AgentBackend : public Backend {
 public:
  AgentBackend(const BackendContext& context, std::unique_ptr<Launcher> launcher);

  asio::awaitable<void> prepare() override;
  asio::awaitable<Json> describe() override;
  [[nodiscard]] bool has_new_nodes() const override { return new_nodes_; }
  asio::awaitable<Json> device_states() override;
  asio::awaitable<void> prepare_round(const RoundTask& task) override;
  asio::awaitable<RoundOutcome> run_round(const RoundTask& task) override;
  void interrupt(int times) override;
  asio::awaitable<void> close() override;

 private:
  asio::awaitable<void> compare_clocks();
  /// Brings up the agents of the first nodes, with others in the place of hosts that cannot be had;
  /// gives why each of those that are missing did not come, by its name.
  asio::awaitable<std::map<std::string, std::string>> gather(int nodes);
  asio::awaitable<void> gather_enough();
  asio::awaitable<void> gather_for(const plan::CasePlan& plan_case);
  /// Ends what earlier attempts at the round left on its nodes, their agents too: these and this
  /// run's controller may both have been killed.
  asio::awaitable<void> sweep_earlier(const RoundTask& task);
  /// Ends agents that were lost, and are still there: they and their guardians were stopped.
  asio::awaitable<void> sweep_lost_agents();
  /// Those on the node's host; they are not given again.
  [[nodiscard]] std::vector<std::string> take_lost_agents(int node);
  /// Journals the agents that have come, so that whoever goes on with the run can end them.
  void note_agents();
  /// Ends what is left of the scheduler's jobs of this run, when no agent is there.
  asio::awaitable<void> give_back_jobs();
  void note_attempt(const std::string& name, int round, const std::string& id);
  void note_part(const std::string& name, int round, int part);
  void leave_out(const std::string& host, const std::string& why, const std::string& instead);
  asio::awaitable<void> provide_image(const plan::CasePlan& plan_case);

  BackendContext context_;
  const plan::Plan& plan_;
  std::unique_ptr<Launcher> launcher_;
  std::unique_ptr<Fleet> fleet_;
  std::optional<HostPool> pool_;  // where the suite lists hosts that can step in
  struct Attempt {
    std::string id;
    int parts = 1;  // of the node that came back to it most often
  };
  std::map<std::pair<std::string, int>, std::vector<Attempt>> attempts_;  // by round
  AgentsByHost lost_agents_;         // of an earlier controller, or replaced by others
  std::set<std::string> lost_jobs_;  // of the scheduler, of an earlier controller
  struct NotedAgent {
    std::string host;
    std::vector<std::string> processes{};
  };
  std::map<int, NotedAgent> noted_agents_;  // by node, as journaled last
  std::set<std::string> left_out_;          // as it was said last
  bool new_nodes_ = false;
  std::set<std::string> images_;          // that every node has
  Round* current_ = nullptr;              // the round that is running
  ExperimentHost* experiment_ = nullptr;  // of the current round
};

}  // namespace assay::launch
