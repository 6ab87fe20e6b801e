#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <utility>

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <fcntl.h>

namespace assay::agent {

/// Opens `acceptor` at `at`; its sockets are not inherited by programs. On an error it is closed.
inline asio::error_code listen_at(asio::ip::tcp::acceptor& acceptor,
                                  const asio::ip::tcp::endpoint& at) {
  constexpr int kBacklog = 64;
  asio::error_code ec;
  acceptor.open(at.protocol(), ec);
  if (!ec) ::fcntl(acceptor.native_handle(), F_SETFD, FD_CLOEXEC);
  if (!ec) acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true), ec);
  if (!ec) acceptor.bind(at, ec);
  if (!ec) acceptor.listen(kBacklog, ec);
  asio::error_code ignored;
  if (ec) acceptor.close(ignored);
  return ec;
}

/// A stranger's connection, which is open for a limited time. Its server may be gone when a queued
/// handler runs, so that each handler first asks over().
template <class Derived>
class LimitedConnection : public std::enable_shared_from_this<Derived> {
 public:
  void close() {
    asio::error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
  }

 protected:
  explicit LimitedConnection(asio::ip::tcp::socket socket)
      : socket_(std::move(socket)), deadline_(socket_.get_executor()) {
    ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
  }
  ~LimitedConnection() = default;

  /// Sets the time until it is closed, from now on.
  void allow(std::chrono::seconds limit) {
    deadline_.expires_after(limit);
    deadline_.async_wait([self = this->weak_from_this()](const asio::error_code& ec) {
      if (const auto connection = self.lock(); connection && !ec) connection->close();
    });
  }

  /// Also true for a socket that was closed while this call was queued.
  bool over(const asio::error_code& ec) {
    if (!ec && socket_.is_open()) return false;
    close();
    return true;
  }

  asio::ip::tcp::socket socket_;

 private:
  asio::steady_timer deadline_;
};

/// A server's open connections, the oldest first.
template <class Connection>
class OpenConnections {
 public:
  [[nodiscard]] std::size_t count() {
    std::erase_if(all_, [](const auto& weak) { return weak.expired(); });
    return all_.size();
  }
  void start(const std::shared_ptr<Connection>& connection) {
    all_.push_back(connection);
    connection->start();
  }
  void close_oldest() {
    if (const auto oldest = all_.front().lock()) oldest->close();
    all_.pop_front();
  }
  void close_all() {
    for (const auto& weak : all_)
      if (const auto connection = weak.lock()) connection->close();
    all_.clear();
  }

 private:
  std::list<std::weak_ptr<Connection>> all_;
};

}  // namespace assay::agent
