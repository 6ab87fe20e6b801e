#pragma once

// For http_server.cpp alone, which is compiled in RESTinio's way of Asio.

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <poll.h>
#include <restinio/all.hpp>
#include <restinio/tls.hpp>
#include <sys/socket.h>

#include "core/time.h"
#include "serve/connection_table.h"
#include "serve/http_status.h"
#include "serve/request_head.h"

namespace assay::serve {

/// One open connection, as the server's loop sees it.
struct Watch {
  int fd = -1;
  RequestHeads heads{};
};

/// The loop of the server's thread, with the connections that live in it. The last to let go of a
/// connection may be another thread.
class Loop : public asio::io_context {
 public:
  explicit Loop(const ConnectionLimits& limits) : asio::io_context(1), table_(limits) {}

  /// Does what its destructor does first: connections end while the server that counts them exists.
  void drop_handlers() { shutdown(); }

  void opened(std::uint64_t connection, const std::string& address, int fd) {
    const std::scoped_lock lock(lock_);
    watches_[connection].fd = fd;
    if (const auto leaves = table_.opened(connection, address, mono_now_ns())) hang_up(*leaves);
  }
  /// Gives as RequestHeads::take_expectation().
  [[nodiscard]] std::optional<HeadFault> received(std::uint64_t connection,
                                                  std::string_view bytes) {
    const std::scoped_lock lock(lock_);
    const auto found = watches_.find(connection);
    if (found == watches_.end()) return std::nullopt;
    table_.received(connection, bytes.size(), mono_now_ns());
    found->second.heads.feed(bytes);
    return found->second.heads.take_expectation();
  }
  void closed(std::uint64_t connection) {
    const std::scoped_lock lock(lock_);
    watches_.erase(connection);
    table_.closed(connection);
  }
  /// The request came as a whole; what is wrong with its head, and whether its connection is to be
  /// closed after the answer.
  [[nodiscard]] std::pair<HeadFault, bool> asked(std::uint64_t connection) {
    const std::scoped_lock lock(lock_);
    table_.asked(connection);
    const auto found = watches_.find(connection);
    if (found == watches_.end()) return {};
    HeadFault fault = found->second.heads.next_fault();
    return {std::move(fault), found->second.heads.lost()};
  }
  /// Why the parser has given up on what was read last; status 0: it was not the parser.
  [[nodiscard]] HeadFault given_up(std::uint64_t connection) {
    const std::scoped_lock lock(lock_);
    const auto found = watches_.find(connection);
    return found == watches_.end() ? HeadFault{} : found->second.heads.given_up();
  }
  [[nodiscard]] bool streams(std::uint64_t connection) {
    const std::scoped_lock lock(lock_);
    // One that is gone takes no place; who writes to it will see.
    return !watches_.contains(connection) || table_.streams(connection);
  }
  void answered(std::uint64_t connection) {
    const std::scoped_lock lock(lock_);
    table_.answered(connection, mono_now_ns());
  }
  void hang_up_overdue() {
    const std::scoped_lock lock(lock_);
    for (const std::uint64_t connection : table_.overdue(mono_now_ns())) hang_up(connection);
  }

 private:
  // The reader sees the end of the stream, and closes the socket itself.
  void hang_up(std::uint64_t connection) {
    if (const auto found = watches_.find(connection); found != watches_.end())
      ::shutdown(found->second.fd, SHUT_RDWR);
  }

  std::mutex lock_;
  ConnectionTable table_;
  std::map<std::uint64_t, Watch> watches_;
};

/// A socket that tells the loop what it reads and when it is closed. `Next` is the socket that
/// RESTinio would use.
template <class Next>
class Watched : public Next {
 public:
  using Next::Next;
  Watched(Watched&& other) noexcept
      : Next(std::move(other)), loop_(std::exchange(other.loop_, nullptr)), id_(other.id_) {}
  Watched& operator=(Watched&& other) noexcept {
    forget();
    loop_ = std::exchange(other.loop_, nullptr);
    id_ = other.id_;
    Next::operator=(std::move(other));
    return *this;
  }
  ~Watched() { forget(); }

  void watch(std::uint64_t id) {
    asio::error_code ec;
    const auto peer = this->lowest_layer().remote_endpoint(ec);
    loop_ =
        &static_cast<Loop&>(static_cast<asio::execution_context&>(this->get_executor().context()));
    id_ = id;
    loop_->opened(id, ec ? std::string() : peer.address().to_string(),
                  this->lowest_layer().native_handle());
  }

  template <class Buffers, class Handler>
  void async_read_some(const Buffers& buffers, Handler handler) {
    const auto executor = asio::get_associated_executor(handler, this->get_executor());
    Next::async_read_some(
        buffers,
        asio::bind_executor(executor, [this, buffers, handler = std::move(handler)](
                                          const asio::error_code& ec, std::size_t size) mutable {
          // The handler holds the connection, and so this socket.
          if (!ec && loop_ != nullptr)
            answer_expectation(loop_->received(
                id_, {static_cast<const char*>(asio::mutable_buffer(buffers).data()), size}));
          // What closes the socket within the handler is the parser that has given up. The handler
          // may end the connection, but it holds it until it is gone itself.
          parsing_ = !ec;
          handler(ec, size);
          parsing_ = false;
        }));
  }

  /// RESTinio closes a connection without a word when it cannot parse a request.
  template <class... Arguments>
  void shutdown(Arguments&&... arguments) {
    if (parsing_ && loop_ != nullptr)
      if (const HeadFault fault = loop_->given_up(id_); fault.status != 0) say(fault);
    Next::shutdown(std::forward<Arguments>(arguments)...);
  }

  /// Answers a peer that does not speak TLS in its own way.
  void say_plainly(const HeadFault& fault) {
    const std::string text = raw_answer(fault);
    if (can_write() && ::send(this->lowest_layer().native_handle(), text.data(), text.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
      end_writing();
  }

  /// From now on it is nobody's connection here.
  void leave() { forget(); }

  template <class... Arguments>
  void close(Arguments&&... arguments) {
    forget();
    Next::close(std::forward<Arguments>(arguments)...);
  }

 private:
  void forget() {
    if (loop_ != nullptr) std::exchange(loop_, nullptr)->closed(id_);
  }

  [[nodiscard]] bool can_write() {
    pollfd writable{this->lowest_layer().native_handle(), POLLOUT, 0};
    return ::poll(&writable, 1, 0) == 1 && (writable.revents & POLLOUT) != 0;
  }

  // Never waits: who does not read does without. Only while no answer is being written.
  bool write_now(const std::string& text) {
    if (!can_write()) return false;
    asio::error_code ignored;
    if constexpr (std::is_same_v<Next, asio::ip::tcp::socket>)
      Next::write_some(asio::buffer(text), ignored);
    else
      this->asio_ssl_stream().write_some(asio::buffer(text), ignored);
    return true;
  }

  // RESTinio waits for the body, and such a client for a word.
  void answer_expectation(const std::optional<HeadFault>& expected) {
    if (!expected) return;
    if (expected->status != 0)
      say(*expected);
    else
      (void)write_now("HTTP/1.1 100 Continue\r\n\r\n");
  }

  void say(const HeadFault& fault) {
    if (write_now(raw_answer(fault))) end_writing();
  }

  void end_writing() {
    const int fd = this->lowest_layer().native_handle();
    ::shutdown(fd, SHUT_WR);
    // With bytes unread, the end of the connection would take the answer away from the peer.
    std::array<char, 16U << 10> rest{};
    for (int i = 0; i < 64 && ::recv(fd, rest.data(), rest.size(), MSG_DONTWAIT) > 0; ++i) {
    }
  }

  bool parsing_ = false;
  Loop* loop_ = nullptr;  // not watched, or closed
  std::uint64_t id_ = 0;
};

using PlainSocket = Watched<asio::ip::tcp::socket>;
using TlsSocket = Watched<restinio::impl::tls_socket_t>;

}  // namespace assay::serve

// RESTinio knows its own TLS socket by its type: what it does for that one, it does for ours.
namespace restinio {

template <class Settings>
class socket_type_dependent_settings_t<Settings, assay::serve::TlsSocket>
    : public socket_type_dependent_settings_t<Settings, impl::tls_socket_t> {
 protected:
  ~socket_type_dependent_settings_t() = default;

 public:
  socket_type_dependent_settings_t() = default;
  socket_type_dependent_settings_t(socket_type_dependent_settings_t&&) noexcept = default;
};

namespace impl {

template <>
class socket_supplier_t<assay::serve::TlsSocket> {
 protected:
  template <class Settings>
  socket_supplier_t(Settings& settings, asio::io_context& context)
      : tls_(settings.giveaway_tls_context()), context_(context) {
    while (sockets_.size() < settings.concurrent_accepts_count())
      sockets_.emplace_back(context_, tls_);
  }
  ~socket_supplier_t() = default;

  assay::serve::TlsSocket& socket(std::size_t index) { return sockets_.at(index); }
  assay::serve::TlsSocket move_socket(std::size_t index) {
    assay::serve::TlsSocket out{context_, tls_};
    std::swap(out, sockets_.at(index));
    return out;
  }
  [[nodiscard]] std::size_t concurrent_accept_sockets_count() const { return sockets_.size(); }

 private:
  std::shared_ptr<asio::ssl::context> tls_;
  asio::io_context& context_;
  std::vector<assay::serve::TlsSocket> sockets_;
};

}  // namespace impl
}  // namespace restinio
