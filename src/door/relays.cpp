#include "door/relays.h"

#include <algorithm>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "core/error.h"
#include "core/time.h"
#include "door/http_head.h"
#include "door/splice_pipe.h"
#include "door/websocket.h"

namespace assay::door {

namespace {

using Descriptor = asio::posix::stream_descriptor;
template <class T = void>
using Task = asio::awaitable<T>;

constexpr std::size_t kSmallPiece = 64U << 10;
constexpr std::size_t kLargePiece = 512U << 10;
constexpr std::size_t kPiecesInARow = 8;
constexpr Nanoseconds kHeadLimit = std::chrono::minutes(5);   // until an application answers
constexpr Nanoseconds kWriteLimit = std::chrono::minutes(2);  // for who does not read
constexpr Nanoseconds kAskEvery = std::chrono::seconds(30);
constexpr std::chrono::seconds kLookEvery{5};

/// A peer that vanishes without a word is noticed within two minutes.
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

/// One connection between a peer and something inside a job. Lives in the loop.
struct Line {
  Line(asio::io_context& loop, UniqueFd of_peer, Passage with, Relays::Terms under)
      : peer(loop, of_peer.release()),
        inside(loop, with.stream.release()),
        timer(loop),
        agent(std::move(with.agent)),
        terms(std::move(under)) {
    watch_for_silence(peer.native_handle());
  }

  void cut() {
    asio::error_code ignored;
    timer.cancel();
    peer.close(ignored);
    inside.close(ignored);
    agent.reset();
  }

  Descriptor peer;
  Descriptor inside;
  asio::steady_timer timer;
  std::shared_ptr<void> agent;
  Relays::Terms terms;
  std::shared_ptr<void> counted;
  std::int64_t head_by_ns = 0;        // an application has to have answered; 0: it has
  std::int64_t writing_since_ns = 0;  // to the peer; 0: nothing is being written
  std::int64_t asked_ns = mono_now_ns();
  bool too_late = false;
};
using Held = std::shared_ptr<Line>;

Task<bool> write_to(Held line, Descriptor& to, std::string_view bytes) {
  asio::error_code ec;
  const bool to_peer = &to == &line->peer;
  if (to_peer) line->writing_since_ns = mono_now_ns();
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await asio::async_write(to, asio::buffer(bytes.data(), bytes.size()), token);
  if (to_peer) line->writing_since_ns = 0;
  co_return !ec;
}

// Nothing at its end.
Task<std::size_t> read_from(Descriptor& from, std::vector<char>& buffer) {
  asio::error_code ec;
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  const std::size_t n = co_await from.async_read_some(asio::buffer(buffer), token);
  // Who sends much gets room for it.
  if (n == buffer.size() && n < kLargePiece) {
    std::vector<char> larger(kLargePiece);
    std::copy_n(buffer.begin(), n, larger.begin());
    buffer = std::move(larger);
  }
  co_return ec ? 0 : n;
}

// Looks after a line: what takes too long, and who may no longer.
Task<> look_after(Held line) {
  while (line->peer.is_open()) {
    asio::error_code stopped;
    line->timer.expires_after(kLookEvery);
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
    const bool stuck =
        line->writing_since_ns != 0 && now_ns - line->writing_since_ns > kWriteLimit.count();
    const bool ask = now_ns - line->asked_ns > kAskEvery.count();
    if (ask) line->asked_ns = now_ns;
    if (stuck || (ask && line->terms.allowed && !line->terms.allowed())) line->cut();
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

void begin(asio::io_context& loop, Task<> task) {
  asio::co_spawn(loop, std::move(task), asio::detached);
}

Task<> greet_and_carry(asio::io_context& loop, Held line, std::string hello) {
  const bool written = co_await write_to(line, line->peer, hello);
  if (!written) {
    line->cut();
    co_return;
  }
  begin(loop, carry_in(line));
  co_await carry_out(line);
}

// What a browser sends, without its frames.
Task<> unwrap_in(Held line) {
  std::vector<char> buffer(kSmallPiece);
  WebSocketReader reader;
  bool closed = false;
  try {
    while (!closed) {
      const std::size_t n = co_await read_from(line->peer, buffer);
      if (n == 0) break;
      reader.feed({buffer.data(), n});
      while (const auto frame = reader.next()) {
        if (frame->kind == WebSocketKind::close) closed = true;
        if (static_cast<unsigned>(frame->kind) > 2 || closed) continue;
        const bool written = co_await write_to(line, line->inside, frame->content);
        if (!written) closed = true;
      }
    }
  } catch (const Error&) {
    // Not a browser's: there is nothing to say to it.
  }
  line->cut();
}

Task<> wrap_out(asio::io_context& loop, Held line, std::string hello) {
  bool written = co_await write_to(line, line->peer, hello);
  if (!written) {
    line->cut();
    co_return;
  }
  begin(loop, unwrap_in(line));
  std::vector<char> buffer(kSmallPiece);
  while (true) {
    const std::size_t n = co_await read_from(line->inside, buffer);
    if (n == 0) break;
    const std::string frame = websocket_bytes(WebSocketKind::binary, {buffer.data(), n});
    written = co_await write_to(line, line->peer, frame);
    if (!written) break;
  }
  const std::string last = websocket_bytes(WebSocketKind::close, "");
  written = co_await write_to(line, line->peer, last);
  line->cut();
}

Task<> send_request(Held line, std::string bytes) {
  asio::error_code ec;
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await asio::async_write(line->inside, asio::buffer(bytes), token);
}

// After its request a browser says nothing more: what comes is its leaving.
Task<> notice_leaving(Held line) {
  std::vector<char> buffer(1024);
  while (true) {
    const std::size_t n = co_await read_from(line->peer, buffer);
    if (n == 0) break;
  }
  line->cut();
}

/// The beginning of an application's answer.
struct Begun {
  std::optional<AnswerHead> head{};
  std::string rest{};   ///< what came after the head
  std::string fault{};  ///< why there is no head
};

Task<Begun> read_head(Held line, std::string method) {
  Begun out;
  std::vector<char> buffer(kSmallPiece);
  std::string bytes;
  while (true) {
    const auto end = bytes.find("\r\n\r\n");
    if (end != std::string::npos) {
      try {
        out.head = parse_answer(std::string_view(bytes).substr(0, end), method);
      } catch (const Error& error) {
        out.fault = error.message();
        co_return out;
      }
      bytes.erase(0, end + 4);
      // What is only said in between is none.
      if (out.head->status >= 200 || out.head->status == 101) {
        out.rest = std::move(bytes);
        co_return out;
      }
      out.head.reset();
      continue;
    }
    if (bytes.size() > kMaxAnswerHead || (bytes.size() >= 5 && !bytes.starts_with("HTTP/"))) {
      out.fault = bytes.starts_with("HTTP/") ? "the head of its answer does not end"
                                             : "it does not answer with HTTP";
      co_return out;
    }
    const std::size_t n = co_await read_from(line->inside, buffer);
    if (n == 0) {
      out.fault = line->too_late  ? "it does not answer"
                  : bytes.empty() ? "it has closed the connection without an answer"
                                  : "it has closed the connection within its answer";
      co_return out;
    }
    bytes.append(buffer.data(), n);
  }
}

Task<bool> ready(Descriptor& of, Descriptor::wait_type what) {
  asio::error_code ec;
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await of.async_wait(what, token);
  co_return !ec;
}

/// Whether the line goes on. Returns early, with nothing lost, where sockets are of a kind that the
/// kernel does not connect.
Task<bool> carry_unseen(Held line, BodyEnd& body, SplicePipe& pipe, bool& refused) {
  asio::error_code ec;
  line->inside.native_non_blocking(true, ec);
  line->peer.native_non_blocking(true, ec);
  std::size_t pieces = 0;
  while (body.unseen() > 0) {
    const std::uint64_t before = pipe.held();
    switch (pipe.fill(line->inside.native_handle(), body.unseen())) {
      case SplicePipe::Step::wait:
        if (const bool more = co_await ready(line->inside, Descriptor::wait_read); !more)
          co_return false;
        continue;
      case SplicePipe::Step::end:
        co_return false;
      case SplicePipe::Step::refused:
        refused = true;
        co_return true;
      case SplicePipe::Step::moved:
        body.skip(pipe.held() - before);
    }
    // Others have their turn, also where there is always something to carry.
    if (++pieces % kPiecesInARow == 0)
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    while (pipe.held() > 0) {
      const SplicePipe::Step step = pipe.empty(line->peer.native_handle());
      line->writing_since_ns = mono_now_ns();
      if (step == SplicePipe::Step::moved) continue;
      if (step != SplicePipe::Step::wait) co_return false;
      const bool room = co_await ready(line->peer, Descriptor::wait_write);
      if (!room) co_return false;
    }
    line->writing_since_ns = 0;
  }
  co_return true;
}

Task<> carry_body(Held line, BodyEnd body, std::string first) {
  std::vector<char> buffer(kSmallPiece);
  SplicePipe pipe;
  bool spliced = true;
  std::string_view bytes = first;
  std::size_t n = 0;
  while (!body.done()) {
    std::size_t used = 0;
    try {
      used = body.feed(bytes);
    } catch (const Error&) {
      break;  // the browser sees that it is not whole
    }
    if (used > 0) {
      const bool written = co_await write_to(line, line->peer, bytes.substr(0, used));
      if (!written) break;
    }
    if (body.done()) break;
    if (spliced && body.unseen() >= kLargePiece) {
      bool refused = false;
      const bool on = co_await carry_unseen(line, body, pipe, refused);
      spliced = !refused;
      if (!on || body.done()) break;
    }
    n = co_await read_from(line->inside, buffer);
    if (n == 0) break;
    bytes = {buffer.data(), n};
  }
}

Task<> serve_request(asio::io_context& loop, Held line, Relays::Request request) {
  line->head_by_ns = mono_now_ns() + kHeadLimit.count();
  begin(loop, send_request(line, std::move(request.bytes)));
  if (!request.websocket) begin(loop, notice_leaving(line));
  Begun answer = co_await read_head(line, request.method);
  line->head_by_ns = 0;
  if (answer.head && answer.head->status == 101 && !request.websocket)
    answer = Begun{.fault = "it answers to something that was not asked"};
  if (!answer.head) {
    const std::string page = request.refuse(line->too_late ? 504 : 502, answer.fault);
    const bool told = co_await write_to(line, line->peer, page);
    static_cast<void>(told);
    line->cut();
    co_return;
  }
  const std::string head = answer_for(*answer.head);
  const bool written = co_await write_to(line, line->peer, head);
  if (!written) {
    line->cut();
    co_return;
  }
  if (answer.head->status == 101) {
    const bool rest = co_await write_to(line, line->peer, answer.rest);
    if (!rest) {
      line->cut();
      co_return;
    }
    begin(loop, carry_in(line));
    co_await carry_out(line);
    co_return;
  }
  co_await carry_body(line, answer.head->body, std::move(answer.rest));
  line->cut();
}

}  // namespace

struct Relays::Engine {
  std::mutex lock;
  std::map<std::string, std::size_t> by_user;
  std::size_t total = 0;
  // After what its lines count in: they end with it.
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(loop);
  std::jthread thread;

  [[nodiscard]] std::shared_ptr<void> count(const std::string& user) {
    const std::scoped_lock guard(lock);
    ++total;
    ++by_user[user];
    return {this, [user](Engine* engine) {
              const std::scoped_lock also(engine->lock);
              --engine->total;
              if (--engine->by_user[user] == 0) engine->by_user.erase(user);
            }};
  }

  void start(UniqueFd peer, Passage passage, Terms terms,
             std::function<Task<>(asio::io_context&, Held)> what) {
    auto counted = count(terms.user);
    auto line = std::make_shared<Line>(loop, std::move(peer), std::move(passage), std::move(terms));
    line->counted = std::move(counted);
    asio::post(loop, [this, line, what = std::move(what)] {
      begin(loop, look_after(line));
      begin(loop, what(loop, line));
    });
  }
};

Relays::Relays() : engine_(std::make_unique<Engine>()) {
  engine_->thread = std::jthread([engine = engine_.get()] { engine->loop.run(); });
}

Relays::~Relays() {
  engine_->loop.stop();
  engine_->thread.join();
}

bool Relays::has_room(const std::string& user) {
  const std::scoped_lock guard(engine_->lock);
  const auto found = engine_->by_user.find(user);
  return engine_->total < kMost && (found == engine_->by_user.end() || found->second < kMostOfUser);
}

void Relays::join(UniqueFd peer, Passage passage, Terms terms, std::string hello) {
  engine_->start(std::move(peer), std::move(passage), std::move(terms),
                 [hello = std::move(hello)](asio::io_context& loop, Held line) {
                   return greet_and_carry(loop, std::move(line), hello);
                 });
}

void Relays::join_websocket(UniqueFd peer, Passage passage, Terms terms, std::string hello) {
  engine_->start(std::move(peer), std::move(passage), std::move(terms),
                 [hello = std::move(hello)](asio::io_context& loop, Held line) {
                   return wrap_out(loop, std::move(line), hello);
                 });
}

void Relays::exchange(UniqueFd peer, Passage passage, Terms terms, Request request) {
  engine_->start(std::move(peer), std::move(passage), std::move(terms),
                 [request = std::move(request)](asio::io_context& loop, Held line) {
                   return serve_request(loop, std::move(line), request);
                 });
}

}  // namespace assay::door
