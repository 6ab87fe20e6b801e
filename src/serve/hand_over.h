#pragma once

// For http_server.cpp alone, which is compiled in RESTinio's way of Asio.

#include <array>
#include <functional>
#include <memory>
#include <utility>

#include <sys/socket.h>

#include "core/files.h"
#include "serve/watched_socket.h"

namespace assay::serve {

/// A TLS connection that somebody has taken over: carries its bytes to and from the plain socket
/// that they have. Lives in the loop.
class TlsCarrier : public std::enable_shared_from_this<TlsCarrier> {
 public:
  TlsCarrier(TlsSocket tls, asio::local::stream_protocol::socket plain)
      : tls_(std::move(tls)), plain_(std::move(plain)) {}

  void start() {
    from_peer();
    to_peer();
  }

 private:
  void from_peer() {
    tls_.async_read_some(asio::buffer(in_), [self = shared_from_this()](const asio::error_code& ec,
                                                                        std::size_t size) {
      asio::error_code ignored;
      if (ec) {
        self->plain_.shutdown(asio::local::stream_protocol::socket::shutdown_send, ignored);
        return;
      }
      asio::async_write(self->plain_, asio::buffer(self->in_, size),
                        [self](const asio::error_code& failed, std::size_t) {
                          if (!failed) self->from_peer();
                        });
    });
  }
  void to_peer() {
    plain_.async_read_some(asio::buffer(out_), [self = shared_from_this()](
                                                   const asio::error_code& ec, std::size_t size) {
      if (ec) return self->end();
      asio::async_write(self->tls_, asio::buffer(self->out_, size),
                        [self](const asio::error_code& failed, std::size_t) {
                          if (failed)
                            self->end();
                          else
                            self->to_peer();
                        });
    });
  }
  // All that was to be said is said.
  void end() {
    asio::error_code ignored;
    plain_.close(ignored);
    tls_.lowest_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }

  TlsSocket tls_;
  asio::local::stream_protocol::socket plain_;
  std::array<char, 64U << 10> in_{};
  std::array<char, 64U << 10> out_{};
};

/// Takes a connection out of the server: `take` is given a descriptor that speaks plain bytes.
inline void hand_over(PlainSocket socket, const std::function<void(UniqueFd)>& take) {
  socket.leave();
  asio::error_code ec;
  const int fd = socket.release(ec);
  if (!ec) take(UniqueFd(fd));
}

inline void hand_over(TlsSocket socket, const std::function<void(UniqueFd)>& take) {
  socket.leave();
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair.data()) != 0)
    return;
  UniqueFd theirs(pair[1]);
  asio::local::stream_protocol::socket plain(socket.get_executor());
  plain.assign(asio::local::stream_protocol(), pair[0]);
  std::make_shared<TlsCarrier>(std::move(socket), std::move(plain))->start();
  take(std::move(theirs));
}

}  // namespace assay::serve
