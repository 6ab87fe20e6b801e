#include "door/relay_line.h"

#include <algorithm>
#include <exception>

#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace assay::door {

namespace {

constexpr Nanoseconds kWriteLimit = std::chrono::minutes(2);  // for a peer that does not read

/// Detects within two minutes a peer that vanishes silently.
void watch_for_silence(int fd) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(fd, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

}  // namespace

Line::Line(asio::io_context& loop, UniqueFd of_peer, Passage with, Relays::Terms under)
    : peer(loop, of_peer.release()),
      inside(loop, with.stream.release()),
      timer(loop),
      agent(std::move(with.agent)),
      terms(std::move(under)) {
  watch_for_silence(peer.native_handle());
}

void Line::cut() {
  asio::error_code ignored;
  timer.cancel();
  peer.close(ignored);
  inside.close(ignored);
  agent.reset();
}

Task<bool> write_to(Held line, Descriptor& to, std::string_view bytes) {
  asio::error_code ec;
  const bool to_peer = &to == &line->peer;
  if (to_peer) line->writing_since_ns = mono_now_ns();
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await asio::async_write(to, asio::buffer(bytes.data(), bytes.size()), token);
  if (to_peer) line->writing_since_ns = 0;
  co_return !ec;
}

Task<std::size_t> read_from(Descriptor& from, std::vector<char>& buffer) {
  asio::error_code ec;
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  const std::size_t n = co_await from.async_read_some(asio::buffer(buffer), token);
  // A busy sender gets a larger buffer.
  if (n == buffer.size() && n < kLargePiece) {
    std::vector<char> larger(kLargePiece);
    std::copy_n(buffer.begin(), n, larger.begin());
    buffer = std::move(larger);
  }
  co_return ec ? 0 : n;
}

Asker::~Asker() {
  thread_.stop();
  thread_.join();
}

void Asker::ask(Held line) {
  line->asking = true;
  asio::post(thread_, [&loop = loop_, line = std::move(line)]() mutable {
    bool allowed = false;
    try {
      allowed = line->terms.allowed();
    } catch (const std::exception&) {
      // If asking fails, it is not allowed.
    }
    // Always returns the line to its loop, which alone may end it.
    asio::post(loop, [line = std::move(line), allowed] {
      line->asking = false;
      line->asked_ns = mono_now_ns();
      if (!allowed) line->cut();
    });
  });
}

Task<> look_after(Held line, Asker& asker, Relays::Pace pace) {
  while (line->peer.is_open()) {
    asio::error_code stopped;
    line->timer.expires_after(pace.look_every);
    auto token = asio::redirect_error(asio::use_awaitable, stopped);
    co_await line->timer.async_wait(token);
    if (!line->peer.is_open()) co_return;
    const std::int64_t now_ns = mono_now_ns();
    if (line->head_by_ns != 0 && now_ns > line->head_by_ns) {
      line->head_by_ns = 0;
      line->too_late = true;
      asio::error_code ignored;
      line->inside.close(ignored);
      continue;
    }
    if (line->writing_since_ns != 0 && now_ns - line->writing_since_ns > kWriteLimit.count()) {
      line->cut();
      co_return;
    }
    if (line->terms.allowed && !line->asking && now_ns - line->asked_ns > pace.ask_every.count())
      asker.ask(line);
  }
}

Task<> carry_in(Held line) {
  std::vector<char> buffer(kSmallPiece);
  while (true) {
    const std::size_t n = co_await read_from(line->peer, buffer);
    if (n == 0) break;
    const bool written = co_await write_to(line, line->inside, {buffer.data(), n});
    if (!written) break;
  }
  if (line->inside.is_open()) ::shutdown(line->inside.native_handle(), SHUT_WR);
}

Task<> carry_out(Held line) {
  std::vector<char> buffer(kSmallPiece);
  while (true) {
    const std::size_t n = co_await read_from(line->inside, buffer);
    if (n == 0) break;
    const bool written = co_await write_to(line, line->peer, {buffer.data(), n});
    if (!written) break;
  }
  line->cut();
}

void begin(asio::io_context& loop, Held line, Task<> task) {
  asio::co_spawn(loop, std::move(task), [line = std::move(line)](const std::exception_ptr& failed) {
    if (failed) line->cut();
  });
}

}  // namespace assay::door
