#include "door/relay_request.h"

#include <optional>

#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "core/error.h"
#include "door/http_head.h"
#include "door/splice_pipe.h"

namespace assay::door {

namespace {

constexpr std::size_t kPiecesInARow = 8;
constexpr Nanoseconds kHeadLimit = std::chrono::minutes(5);  // for an application's answer

Task<> send_request(Held line, std::string bytes) {
  asio::error_code ec;
  auto token = asio::redirect_error(asio::use_awaitable, ec);
  co_await asio::async_write(line->inside, asio::buffer(bytes), token);
}

// A browser says nothing after its request, so anything that arrives means that it leaves.
Task<> notice_leaving(Held line) {
  std::vector<char> buffer(1024);
  while (true) {
    const std::size_t n = co_await read_from(line->peer, buffer);
    if (n == 0) break;
  }
  line->cut();
}

/// The beginning of an application's response.
struct Begun {
  std::optional<AnswerHead> head{};
  std::string rest{};   ///< the bytes after the head
  std::string fault{};  ///< why there is no head
};

Task<Begun> read_head(Held line, std::string method) {
  Begun out;
  std::vector<char> buffer(kSmallPiece);
  std::string bytes;
  while (true) {
    const auto end = bytes.find("\r\n\r\n");
    if (end <= kMaxAnswerHead) {  // false if there is none
      try {
        out.head = parse_answer(std::string_view(bytes).substr(0, end), method);
      } catch (const Error& error) {
        out.fault = error.message();
        co_return out;
      }
      bytes.erase(0, end + 4);
      // Skips interim responses.
      if (out.head->status >= 200 || out.head->status == 101) {
        out.rest = std::move(bytes);
        co_return out;
      }
      out.head.reset();
      continue;
    }
    if (bytes.size() > kMaxAnswerHead || (bytes.size() >= 5 && !bytes.starts_with("HTTP/"))) {
      out.fault = bytes.starts_with("HTTP/") ? "the head of its answer is too long"
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

/// Returns whether the line continues. Returns early, losing nothing, if the kernel does not
/// connect this kind of sockets.
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
    // Lets others have their turn even when there is always something to carry.
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
      break;  // the browser sees that the answer is incomplete
    }
    if (used > 0) {
      const bool written = co_await write_to(line, line->peer, bytes.substr(0, used));
      if (!written) break;
    }
    if (body.done()) {
      const bool ended = co_await write_to(line, line->peer, body.last_words());
      static_cast<void>(ended);
      break;
    }
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

}  // namespace

Task<> serve_request(asio::io_context& loop, Held line, Relays::Request request) {
  line->head_by_ns = mono_now_ns() + kHeadLimit.count();
  begin(loop, line, send_request(line, std::move(request.bytes)));
  if (!request.websocket) begin(loop, line, notice_leaving(line));
  Begun answer = co_await read_head(line, request.method);
  line->head_by_ns = 0;
  if (answer.head && answer.head->status == 101 && !request.websocket)
    answer = Begun{.fault = "it answers to something that was not asked"};
  if (answer.head && !request.knows_chunks && answer.head->body.kind() == BodyEnd::Kind::chunked)
    answer = Begun{.fault = "it answers in chunks, which HTTP/1.0 does not know"};
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
    begin(loop, line, carry_in(line));
    co_await carry_out(line);
    co_return;
  }
  co_await carry_body(line, answer.head->body, std::move(answer.rest));
  line->cut();
}

}  // namespace assay::door
