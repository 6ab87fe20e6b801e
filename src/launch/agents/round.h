#pragma once

#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "launch/agents/fleet.h"
#include "launch/agents/live_logs.h"
#include "launch/agents/round_machine.h"
#include "launch/backend.h"
#include "rendezvous/ranks.h"
#include "store/journal_event.h"

namespace assay::launch {

struct Collected;

/// Runs one round on the fleet: sends the work, does what the round's machine asks for, and fetches
/// the evidence.
class Round {
 public:
  /// `env` goes to the ranks besides the plan's: what neither plan nor journal may hold.
  Round(const BackendContext& context, const Launcher& launcher, Fleet& fleet,
        const RoundTask& task, std::map<std::string, std::string> env);
  ~Round() { *alive_ = false; }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;
  /// Called when a node has an agent again, and begins that part of the round.
  void on_return(std::function<void(int part)> call) { on_return_ = std::move(call); }

  asio::awaitable<RoundOutcome> run();
  /// Unique over all runs and attempts.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  // As in RoundMachine.
  void interrupt();
  void wind_down();
  void fail(const RoundOutcome& outcome);

 private:
  [[nodiscard]] std::string master_address() const;
  [[nodiscard]] NodePlace place_of(int node, int part) const;
  [[nodiscard]] std::filesystem::path remote_dir(int node, int part = 1) const;
  asio::awaitable<void> choose_port();
  /// Asks every node what its ranks would execute; what is not known is said in the journal.
  asio::awaitable<void> identify();
  asio::awaitable<void> drop_caches();
  asio::awaitable<void> collect_evidence();
  asio::awaitable<void> check_received(int node, int part);
  /// What may be left of the node's part of the round, to be ended there.
  [[nodiscard]] Remains remains_of(int node);
  void bring_back(int node);
  void begin_again(int node);
  /// What people are told of nodes that go and come.
  void say_whereabouts(const RoundMachine::JournalEntry& entry);
  [[nodiscard]] bool is_first_of_its_machine(int node) const;
  [[nodiscard]] agent::RoundRequest request_for(int node);
  void say_unmarked();
  void say_left_out(const Collected& result);
  void journal_start();
  /// The round's ssh: from one node to another.
  void pass_on(int from, agent::Relay relay);
  [[nodiscard]] std::map<std::string, int> ssh_names() const;
  void send_work();
  /// Does what the machine asks for. A journal that cannot be written (a full disk) ends the round
  /// and the run, not the process.
  void apply(const RoundMachine::Actions& actions);
  void journal(store::JournalEvent event, int node, const Json& fields);
  [[nodiscard]] int nodes() const noexcept { return task_.plan_case.nodes; }
  [[nodiscard]] const std::string& host(int node) const {
    return placement_.hosts.at(static_cast<std::size_t>(node));
  }

  BackendContext context_;
  const plan::Plan& plan_;
  const Launcher& launcher_;
  Fleet& fleet_;
  RoundTask task_;
  rendezvous::Placement placement_;
  std::string id_;
  RoundMachine machine_;
  std::optional<LiveLogs> live_logs_;  // where agents do not write into the run directory
  std::map<int, std::vector<std::vector<std::string>>> cleanups_;  // of the nodes' containers
  std::map<int, Json> cache_drops_;
  std::map<int, Json> executed_;  // by node: what its first rank runs
  std::int64_t begun_ns_ = 0;     // when the work was sent
  bool collecting_ = false;
  std::function<void(int)> on_return_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what outlives this object
  asio::steady_timer changed_;
  std::exception_ptr failure_;
};

}  // namespace assay::launch
