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

#include "launch/channel.h"
#include "launch/launcher.h"

namespace assay::launch {

/// The agents of a run, one per node, and the way to each of them. Agents are pinged every few
/// seconds, so that one whose link was cut knows that nobody is there any more.
class Fleet {
 public:
  struct Listener {
    std::function<void(int node, const Json& message)> message;
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
  /// came stay.
  asio::awaitable<std::map<int, std::string>> try_connect();
  /// Asks every agent what machine it is on: node → system information. Nodes that do not answer
  /// within `limit` are left out.
  asio::awaitable<std::map<int, Json>> describe(const Json& device_query, Nanoseconds limit);
  /// Sends `request` to every agent and collects the first answer of type `answer` from each, at
  /// most for `limit`.
  asio::awaitable<std::map<int, Json>> ask(const Json& request, std::string answer,
                                           Nanoseconds limit);

  /// A request of its own for each node.
  asio::awaitable<std::map<int, Json>> ask_each(const std::map<int, Json>& requests,
                                                std::string answer, Nanoseconds limit);
  /// The same for one agent; nothing when it does not answer in time.
  asio::awaitable<std::optional<Json>> ask_one(int node, const Json& request, std::string answer,
                                               Nanoseconds limit);
  /// Kills what a round left on a node whose agent was lost, and runs `cleanups` there. Goes on in
  /// the background, bounded; settle() waits for it.
  void sweep(int node, const std::string& round_id,
             const std::vector<std::vector<std::string>>& cleanups);
  asio::awaitable<void> settle();

  /// What the node's agent said of itself when it last came; an empty object if it never did.
  [[nodiscard]] const Json& identity(int node) const;

  /// Ends a question that is being asked; who has not answered by now is left out.
  void stop_asking();
  /// Makes connect() give up and throw.
  void abandon();
  /// Called while connect() waits, with what it waits for.
  void on_waiting(std::function<void(const std::string&)> call) { on_waiting_ = std::move(call); }
  void listen(Listener listener) { listener_ = std::move(listener); }
  void send(int node, const Json& message);
  /// Gives up on a node: its channel is killed. No `lost` call follows.
  void drop(int node);
  /// Says bye and waits, bounded, until every agent has ended.
  asio::awaitable<void> disconnect();

  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] bool connected(int node) const;
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }

 private:
  void on_message(int node, const Json& message);
  void on_closed(const std::vector<int>& nodes, const std::string& reason);
  asio::awaitable<void> wait_for_hellos(Nanoseconds limit);
  void open(const ChannelCommand& command, int attempt, std::int64_t since_ns);
  bool try_again(const ChannelCommand& command, const std::string& reason, int attempt,
                 std::int64_t since_ns);
  void ping();
  void close_channel(int node);
  asio::awaitable<void> wait(Nanoseconds limit, const std::function<bool()>& until);

  asio::io_context& loop_;
  const Launcher& launcher_;
  std::vector<std::string> hosts_;
  std::map<int, std::shared_ptr<Channel>> channels_;  // by node; several may share one
  std::map<int, Json> hellos_;
  std::map<int, std::string> failures_;
  std::map<int, Json> identities_;
  std::set<int> dropped_;
  std::string waiting_for_;
  std::function<void(const std::string&)> on_waiting_;
  int sweeping_ = 0;
  bool abandoned_ = false;
  bool asking_ = false;
  Listener listener_;
  asio::steady_timer changed_;
  asio::steady_timer ping_timer_;
  std::map<int, std::unique_ptr<asio::steady_timer>> retries_;  // by first node of the command
};

}  // namespace assay::launch
