#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "launch/agents/channel.h"
#include "launch/agents/launcher.h"
#include "launch/agents/program_sharing.h"

namespace assay::launch {

/// What an agent made of a request: its answer, or why there is none.
template <class Answer>
struct Reply {
  std::optional<Answer> answer{};
  std::string problem{};
};

/// What is to be ended and cleaned up on a node.
struct Remains {
  std::string round_id{};             ///< of the round whose processes are killed; empty: of none
  std::vector<std::string> agents{};  ///< agent::Hello::processes of those that are lost
  std::vector<std::vector<std::string>> cleanups{};  ///< commands

  /// Pure: what the agent's program is told to do there.
  [[nodiscard]] std::vector<std::string> sweep_args() const;
};

/// The agents of a run, one per node, and the way to each of them. Agents are pinged every few
/// seconds, so that one whose link was cut notices that the controller is gone.
class Fleet {
 public:
  struct Listener {
    std::function<void(int node, const agent::Report& report)> report;
    std::function<void(int node, const std::string& reason)> lost;
  };

  Fleet(asio::io_context& loop, const Launcher& launcher, std::vector<std::string> hosts);
  ~Fleet();  ///< closes every channel; agents that still run stop their ranks and end
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  /// Starts the agents that are not there (all at first, later those that were lost) and waits for
  /// every hello. Throws Error of kind launch that names the hosts which did not answer in time.
  asio::awaitable<void> connect();
  /// The same without throwing for a host's sake: node → why its agent did not come. Those that
  /// came stay. Only of the first `nodes`; 0: of all.
  asio::awaitable<std::map<int, std::string>> try_connect(int nodes = 0);
  /// Another host is this node from now on; the agent of the one before is left. Not while a round
  /// runs.
  void set_host(int node, const std::string& host);
  /// Sends each node its request and waits for the answers, at most for `limit`. Every node that
  /// was asked is in the result. Not while a round runs.
  template <class Request>
  asio::awaitable<std::map<int, Reply<typename Request::Answer>>> ask(
      std::map<int, Request> requests, Nanoseconds limit) {
    using Answer = typename Request::Answer;
    std::map<int, agent::Request> sent;
    std::map<int, Reply<Answer>> replies;
    for (auto& [node, request] : requests) {
      replies[node].problem = "the agent did not answer";
      sent.emplace(node, std::move(request));
    }
    const IsAnswer is_answer = [](const agent::Report& report) {
      return std::holds_alternative<Answer>(report);
    };
    const std::map<int, agent::Report> reports =
        co_await ask_reports(std::move(sent), is_answer, limit);
    for (const auto& [node, report] : reports) {
      Reply<Answer>& reply = replies[node];
      if (const auto* answer = std::get_if<Answer>(&report))
        reply = {*answer, {}};
      else
        reply.problem = std::get<agent::Refusal>(report).reason;
    }
    co_return replies;
  }
  /// The same request for every node.
  template <class Request>
  asio::awaitable<std::map<int, Reply<typename Request::Answer>>> ask_all(Request request,
                                                                          Nanoseconds limit) {
    std::map<int, Request> requests;
    for (int node = 0; node < size(); ++node) requests.emplace(node, request);
    return ask(std::move(requests), limit);
  }
  /// Kills what a round or an agent left on a node, and cleans up there. Goes on in the background,
  /// bounded; settle() waits for it.
  void sweep(int node, const Remains& remains);
  asio::awaitable<void> settle();
  /// While a round runs: when nothing is left of `remains` on the node, an agent is started there
  /// again, unless the one before still serves. Gives why there is none; empty: it is there. One
  /// attempt, bounded; settle() waits for it.
  asio::awaitable<std::string> bring_back(int node, Remains remains);

  /// The hello of the node's agent when it last came; an empty one if it never did, with the
  /// processes of one that has only begun.
  [[nodiscard]] const agent::Hello& identity(int node) const;

  /// Ends a question that is being asked; nodes that have not answered by now are left out.
  void stop_asking();
  /// Makes connect() give up and throw.
  void abandon();
  /// Called while connect() waits, with what it waits for.
  void on_waiting(std::function<void(const std::string&)> call) { on_waiting_ = std::move(call); }
  /// Called when programs were brought to hosts whose agents ran already.
  void on_shared(std::function<void(const SharingRecord&)> call) { on_shared_ = std::move(call); }
  void listen(Listener listener) { listener_ = std::move(listener); }
  void send(int node, const agent::Request& request);
  /// Gives up on a node: its channel is killed. No `lost` call follows.
  void drop(int node);
  /// Sends bye and waits, bounded, until every agent has ended. One that does not, because it and
  /// its guardian are stopped, is killed.
  asio::awaitable<void> disconnect();

  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] const std::string& host(int node) const {
    return hosts_.at(static_cast<std::size_t>(node));
  }
  [[nodiscard]] bool connected(int node) const;
  /// Whether its agent has said hello.
  [[nodiscard]] bool present(int node) const { return present_.contains(node) && connected(node); }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }

 private:
  using IsAnswer = std::function<bool(const agent::Report&)>;
  /// The first report of each node that is an answer, or a refusal.
  asio::awaitable<std::map<int, agent::Report>> ask_reports(std::map<int, agent::Request> requests,
                                                            IsAnswer is_answer, Nanoseconds limit);
  void on_message(int node, const Json& message);
  void on_closed(const std::vector<int>& nodes, const Channel* channel, const std::string& reason);
  asio::awaitable<std::string> try_to_bring_back(int node, std::vector<std::string> sweep);
  /// What starts the agent of one node, whatever started those of all.
  [[nodiscard]] ChannelCommand own_command(int node) const;
  /// Closes the node's channel, or leaves one of several nodes to the others.
  void leave_channel(int node);
  void close_left();
  void give_reason(const std::vector<int>& nodes, const std::string& reason);
  asio::awaitable<void> wait_for_hellos(int nodes, Nanoseconds limit);
  asio::awaitable<void> share_programs(int nodes);
  /// "programs for 3 hosts: 41 %"; empty: none are being sent.
  [[nodiscard]] std::string uploads() const;
  /// Until when uploads that go on may take, by what they have done so far, if `limit` is the time
  /// that everything else has; 0: none goes on. A stalled one does not move it.
  [[nodiscard]] std::int64_t uploads_until(std::int64_t begin_ns, Nanoseconds limit) const;
  /// Why a node is missing that nothing was heard of.
  [[nodiscard]] std::string silence_of(int node, Nanoseconds waited) const;
  void check_protocols() const;
  void open(const ChannelCommand& command, int attempt, std::int64_t since_ns);
  bool try_again(const ChannelCommand& command, const std::string& reason, int attempt,
                 std::int64_t since_ns);
  void ping();
  void give_up(int node);
  void close_channel(int node);
  void close(const std::shared_ptr<Channel>& channel);
  /// Whether a stopped agent stays when the way to it is closed.
  [[nodiscard]] bool outlives_its_channel(int node) const;
  asio::awaitable<void> run_sweep(int node, std::vector<std::string> args);
  asio::awaitable<void> closed();  // what was closed is gone
  asio::awaitable<void> wait(Nanoseconds limit, const std::function<bool()>& until);

  asio::io_context& loop_;
  const Launcher& launcher_;
  std::vector<std::string> hosts_;
  std::map<int, std::shared_ptr<Channel>> channels_;  // by node; several may share one
  std::set<std::shared_ptr<Channel>> left_;           // that some node has left
  std::set<int> begun_;                               // nodes whose agent was started
  std::set<int> present_;                             // nodes whose agent came
  std::map<int, std::string> failures_;
  std::map<int, agent::Hello> identities_;
  std::set<int> equipped_;  // hosts that got their programs after their agent
  std::set<int> dropped_;
  std::string waiting_for_;
  std::function<void(const std::string&)> on_waiting_;
  std::function<void(const SharingRecord&)> on_shared_;
  int closing_ = 0;        // channels whose commands still have to go
  int in_background_ = 0;  // sweeps, and questions about how a channel ended
  bool abandoned_ = false;
  bool asking_ = false;
  bool leaving_ = false;  // how a channel ends is no longer of interest
  Listener listener_;
  asio::steady_timer changed_;
  asio::steady_timer ping_timer_;
  std::map<int, std::unique_ptr<asio::steady_timer>> retries_;  // by first node of the command
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what outlives this object
};

}  // namespace assay::launch
