#include "door/relays.h"

#include <exception>
#include <vector>

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "door/relay_line.h"
#include "door/relay_request.h"
#include "door/websocket.h"
#include "serve/log.h"

namespace assay::door {

namespace {

Task<> greet_and_carry(asio::io_context& loop, Held line, std::string hello) {
  const bool written = co_await write_to(line, line->peer, hello);
  if (!written) {
    line->cut();
    co_return;
  }
  begin(loop, line, carry_in(line));
  co_await carry_out(line);
}

// Passes on what a browser sends, without its frames.
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
    // The peer is not a browser, so there is nothing to tell it.
  }
  line->cut();
}

Task<> wrap_out(asio::io_context& loop, Held line, std::string hello) {
  bool written = co_await write_to(line, line->peer, hello);
  if (!written) {
    line->cut();
    co_return;
  }
  begin(loop, line, unwrap_in(line));
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

}  // namespace

struct Relays::Engine {
  explicit Engine(const Pace& given) : pace(given) {}

  const Pace pace;
  std::mutex lock;
  std::map<std::string, std::size_t> by_user;
  std::size_t total = 0;
  // Declared after the members that its lines use, because they end with it.
  asio::io_context loop{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(loop);
  Asker asker{loop};
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
      try {
        begin(loop, line, look_after(line, asker, pace));
        begin(loop, line, what(loop, line));
      } catch (const std::exception&) {
        line->cut();  // out of memory
      }
    });
  }

  void run() {
    for (;;) {
      try {
        loop.run();
        return;
      } catch (const std::exception& error) {
        // Goes on, because the others' bytes still have to be carried.
        serve::log_error(fmt::format("the door's relays: {}", error.what()));
      }
    }
  }
};

Relays::Relays() : Relays(Pace{}) {}

Relays::Relays(const Pace& pace) : engine_(std::make_unique<Engine>(pace)) {
  engine_->thread = std::jthread([engine = engine_.get()] { engine->run(); });
}

Relays::~Relays() {
  engine_->loop.stop();
  engine_->thread.join();
}

bool Relays::has_room(const std::string& user) {
  const std::scoped_lock guard(engine_->lock);
  const auto found = engine_->by_user.find(user);
  return engine_->total < kMost && (found == engine_->by_user.end() || found->second < kMaxOfUser);
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
