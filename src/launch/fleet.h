#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>

#include "launch/channel.h"
#include "launch/launcher.h"

namespace assay::launch {

/// The agents of a run, one per node, and the way to each of them.
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
  /// Asks every agent what machine it is on: node → system information. Nodes that do not answer
  /// within `limit` are left out.
  asio::awaitable<std::map<int, Json>> describe(const Json& device_query, Nanoseconds limit);
  /// Sends `request` to every agent and collects the first answer of type `answer` from each, at
  /// most for `limit`.
  asio::awaitable<std::map<int, Json>> ask(const Json& request, std::string answer,
                                           Nanoseconds limit);

  void listen(Listener listener) { listener_ = std::move(listener); }
  void send(int node, const Json& message);
  /// Gives up on a node: its channel is killed. No `lost` call follows.
  void drop(int node);
  /// Says bye and waits, bounded, until every agent has ended.
  asio::awaitable<void> disconnect();

  [[nodiscard]] const std::vector<std::string>& hosts() const noexcept { return hosts_; }
  [[nodiscard]] int size() const noexcept { return static_cast<int>(hosts_.size()); }

 private:
  void on_message(int node, const Json& message);
  void on_closed(const std::vector<int>& nodes, const std::string& reason);
  asio::awaitable<void> wait(Nanoseconds limit, const std::function<bool()>& until);
  [[nodiscard]] bool connected(int node) const;

  asio::io_context& loop_;
  const Launcher& launcher_;
  std::vector<std::string> hosts_;
  std::map<int, std::shared_ptr<Channel>> channels_;  // by node; several may share one
  std::map<int, Json> hellos_;
  std::map<int, std::string> failures_;
  Listener listener_;
  asio::steady_timer changed_;
};

}  // namespace assay::launch
