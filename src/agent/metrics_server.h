#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>

#include "agent/limited_connection.h"

namespace assay::agent {

/// Serves GET /metrics over HTTP/1.1 on the agent's loop, one request per connection. The cost of
/// strangers is bounded: concurrent connections (the oldest makes room), connections per second,
/// bytes and seconds per connection, and pages rendered per second. Never throws after
/// construction. The loop must have stopped running before this is destroyed.
class MetricsServer {
 public:
  static constexpr std::size_t kConnections = 16;
  static constexpr int kPerSecond = 50;
  static constexpr std::size_t kRequestBytes = 4096;
  static constexpr std::chrono::seconds kDeadline{5};      ///< from the first byte to the last
  static constexpr std::chrono::milliseconds kFresh{100};  ///< how long a page is served again

  /// `render` makes the page. It is called on the loop, and never after close().
  MetricsServer(asio::io_context& loop, std::function<std::string()> render);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  /// Opens `endpoint` (core/address.h) unless it is already open; returns "" or why it cannot.
  [[nodiscard]] std::string listen(const std::string& endpoint);
  /// Closes every connection, so that the loop can run out of work.
  void close();
  [[nodiscard]] int port() const noexcept { return port_; }  ///< 0 when closed
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  [[nodiscard]] std::uint64_t evicted() const noexcept { return evicted_; }

 private:
  class Connection;
  void accept();
  void admit(asio::ip::tcp::socket socket);
  [[nodiscard]] std::shared_ptr<const std::string> page();

  asio::io_context& loop_;
  std::function<std::string()> render_;
  std::string endpoint_;
  int port_ = 0;
  asio::ip::tcp::acceptor acceptor_;
  asio::steady_timer pause_;
  OpenConnections<Connection> connections_;
  std::int64_t second_began_ns_ = 0;
  int in_second_ = 0;
  std::uint64_t requests_ = 0;
  std::uint64_t evicted_ = 0;
  std::shared_ptr<const std::string> page_;
  std::int64_t rendered_ns_ = 0;
};

}  // namespace assay::agent
