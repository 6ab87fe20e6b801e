#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "automl/weights_store.h"
#include "automl/worker_protocol.h"

namespace assay::automl {

/// The workers' connections: accepts them, asks for the token, splits the bytes into messages,
/// stores and hands out weights. Knows nothing of the experiment. Runs on the loop's thread; made
/// by make_shared.
class WorkerServer : public std::enable_shared_from_this<WorkerServer> {
 public:
  /// Called for workers that know the token; each has a number. None is called after close().
  struct Hooks {
    std::function<void(int worker, const Hello&)> joined;
    std::function<void(int worker, const WorkerMessage&)> received;
    /// A result that is not a number, or a trial that cannot be sent: the trial fails, not the
    /// worker.
    std::function<void(int worker, std::int64_t trial, const std::string& why)> failed;
    std::function<void(int worker, const std::string& reason)> left;
    std::function<void()> dropped;  ///< any connection has ended
    /// How many weights a trial's model has; nothing for a trial that does not exist.
    std::function<std::optional<std::int64_t>(std::int64_t trial)> parameters;
  };

  WorkerServer(asio::io_context& loop, WeightsStore& weights, Hooks hooks);

  /// Opens a free port. Throws Error of kind environment.
  void listen(const std::string& address);
  void accept();
  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }
  [[nodiscard]] const std::string& token() const noexcept { return token_; }
  [[nodiscard]] bool empty() const noexcept { return known_.empty(); }

  /// Does nothing for a worker that is gone.
  void send(int worker, const CoordinatorMessage& message);
  void drop(int worker);
  /// Tells it why it is not wanted, and drops it.
  void refuse(int worker, const std::string& reason);
  /// Accepts no more connections and drops all.
  void close();

 private:
  struct Connection;
  using Peer = std::shared_ptr<Connection>;
  using Item = std::variant<std::string, WeightsStore::Download>;

  void on_accepted(asio::ip::tcp::socket socket);
  static asio::awaitable<void> read(std::weak_ptr<WorkerServer> self, Peer peer);
  static asio::awaitable<void> write(std::weak_ptr<WorkerServer> self, Peer peer);
  void received(const Peer& peer, std::string_view bytes);
  void handle(const Peer& peer, const std::string& line);
  bool refuse_result(const Peer& peer, const std::string& line, const std::string& why);
  void greet(const Peer& peer, const Hello& hello);
  void push(const Peer& peer, Item item);
  void drop(const Peer& peer);
  void gone(const Peer& peer, const std::string& reason);

  asio::io_context& loop_;
  WeightsStore& weights_;
  Hooks hooks_;
  std::string token_;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer retry_;
  std::map<int, Peer> all_;
  std::map<int, Peer> known_;
  int next_id_ = 1;
  bool stopped_ = false;
};

}  // namespace assay::automl
