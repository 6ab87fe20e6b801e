#pragma once

#include <exception>
#include <filesystem>
#include <map>
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

  asio::awaitable<RoundOutcome> run();
  /// Unique over all runs and attempts.
  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  // As in RoundMachine.
  void interrupt();
  void wind_down();
  void fail(const RoundOutcome& outcome);

 private:
  [[nodiscard]] std::string master_address() const;
  [[nodiscard]] NodePlace place_of(int node) const;
  [[nodiscard]] std::filesystem::path remote_dir(int node) const;
  asio::awaitable<void> choose_port();
  /// Asks every node what its ranks would execute; what is not known is said in the journal.
  asio::awaitable<void> identify();
  asio::awaitable<void> drop_caches();
  asio::awaitable<void> collect_evidence();
  asio::awaitable<void> check_received(int node);
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
  asio::steady_timer changed_;
  std::exception_ptr failure_;
};

}  // namespace assay::launch
