#include "emulator/http_connection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::emulator {

namespace {

using asio::ip::tcp;

constexpr std::size_t kMaxHead = 64 << 10;
constexpr std::size_t kMaxBody = 16 << 20;
constexpr std::size_t kPiece = 256 << 10;
// A small request arrives completely with the first read.
constexpr std::size_t kFirstRead = 16 << 10;

/// Ends the connection without an answer.
struct Hangup {};

std::string_view reason(int status) {
  static constexpr auto kReasons = std::to_array<std::pair<int, std::string_view>>({
      {200, "OK"},
      {201, "Created"},
      {202, "Accepted"},
      {204, "No Content"},
      {206, "Partial Content"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {409, "Conflict"},
      {411, "Length Required"},
      {416, "Range Not Satisfiable"},
      {429, "Too Many Requests"},
      {503, "Service Unavailable"},
  });
  const auto found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "Status" : found->second;
}

/// Returns false if the text is not an HTTP/1.1 head.
bool parse_head(std::string_view text, ServerRequest& request) {
  const std::size_t end = text.find("\r\n");
  const std::string_view line = text.substr(0, end);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last <= first || !line.ends_with("HTTP/1.1")) return false;
  request.method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, last - first - 1);
  if (!target.starts_with('/')) return false;
  const std::size_t question = target.find('?');
  request.path = http::percent_decode(target.substr(0, question));
  if (question != std::string_view::npos)
    request.query = http::parse_query(target.substr(question + 1));
  text.remove_prefix(end + 2);
  while (!text.empty()) {
    const std::size_t stop = text.find("\r\n");
    const std::string_view header = text.substr(0, stop);
    text.remove_prefix(std::min(stop, text.size() - 2) + 2);
    if (header.empty()) break;
    const std::size_t colon = header.find(':');
    if (colon == std::string_view::npos) return false;
    auto [at, fresh] =
        request.headers.emplace(to_lower(header.substr(0, colon)), trim(header.substr(colon + 1)));
    if (!fresh) at->second.append(",").append(trim(header.substr(colon + 1)));
  }
  return true;
}

class Connection {
 public:
  Connection(tcp::socket socket, Handler& handler)
      : socket_(std::move(socket)), handler_(handler), timer_(socket_.get_executor()) {
    piece_.resize(kPiece);
    buffer_.reserve(kFirstRead);
  }

  asio::awaitable<void> serve() {
    socket_.set_option(tcp::no_delay(true));
    for (;;) {
      ServerRequest request;
      if (!co_await read_head(request)) co_return;
      const bool keep = to_lower(request.header("connection")) != "close";
      const Intake intake = handler_.intake(request);
      if (intake.refusal) {
        // The body is still arriving: HTTP/1.1 only allows answering and closing.
        co_await drain(request);
        co_await send(request, *intake.refusal);
      } else {
        co_await read_body(request, intake);
        ServerResponse response = handler_.handle(request);
        if (!request.body_file.empty()) {
          std::error_code ignored;
          std::filesystem::remove(request.body_file, ignored);
        }
        co_await send(request, response);
      }
      if (!keep) co_return;
    }
  }

 private:
  asio::awaitable<bool> read_head(ServerRequest& request) {
    const std::size_t size = co_await asio::async_read_until(
        socket_, asio::dynamic_buffer(buffer_, kMaxHead), "\r\n\r\n", asio::use_awaitable);
    const bool good = parse_head(std::string_view(buffer_).substr(0, size), request);
    buffer_.erase(0, size);
    if (!good) {
      ServerResponse bad;
      bad.status = 400;
      co_await send(request, bad);
    }
    co_return good;
  }

  /// Calls `take` with every piece of the body.
  template <class Take>
  asio::awaitable<void> for_each_piece(ServerRequest& request, Take take) {
    const std::string length = request.header("content-length");
    std::uint64_t left = parse_number<std::uint64_t>(length).value_or(0);
    request.body_size = left;
    if (left > 0 && to_lower(request.header("expect")) == "100-continue")
      co_await asio::async_write(socket_, asio::buffer(kContinue), asio::use_awaitable);
    if (!buffer_.empty()) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left, buffer_.size()));
      take(std::string_view(buffer_).substr(0, n));
      buffer_.erase(0, n);
      left -= n;
    }
    while (left > 0) {
      const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, piece_.size()));
      const std::size_t n = co_await socket_.async_read_some(asio::buffer(piece_.data(), wanted),
                                                             asio::use_awaitable);
      take(std::string_view(piece_.data(), n));
      left -= n;
    }
  }

  asio::awaitable<void> drain(ServerRequest& request) {
    co_await for_each_piece(request, [](std::string_view) {});
  }

  asio::awaitable<void> read_body(ServerRequest& request, const Intake& intake) {
    std::uint64_t taken = 0;
    const auto watch = [&](std::string_view piece) {
      taken += piece.size();
      if (intake.close_after && taken >= *intake.close_after) throw Hangup();
    };
    if (intake.close_after == 0U) throw Hangup();
    if (intake.spool.empty()) {
      co_await for_each_piece(request, [&](std::string_view piece) {
        watch(piece);
        if (request.body.size() + piece.size() > kMaxBody) throw Hangup();
        request.body += piece;
      });
      co_return;
    }
    request.body_file = intake.spool;
    const UniqueFd file(
        ::open(request.body_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file)
      throw system_error(ErrorKind::environment, "cannot write", request.body_file.string(), errno);
    Digest md5(Hash::md5);
    try {
      co_await for_each_piece(request, [&](std::string_view piece) {
        watch(piece);
        md5.update(piece);
        write_all(file.get(), piece, request.body_file);
      });
    } catch (...) {
      ::unlink(request.body_file.c_str());
      throw;
    }
    request.body_md5 = md5.finish();
  }

  asio::awaitable<void> send(const ServerRequest& request, const ServerResponse& response) {
    if (response.drop) throw Hangup();
    if (response.delay.count() > 0) {
      timer_.expires_after(response.delay);
      co_await timer_.async_wait(asio::use_awaitable);
    }
    std::uint64_t size = response.body.size();
    for (const auto& file : response.files) size += file.size;
    std::string text = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason(response.status));
    for (const auto& [name, value] : response.headers) text += name + ": " + value + "\r\n";
    if (response.status != 204)
      text += fmt::format("Content-Length: {}\r\n", response.content_length.value_or(size));
    text += "\r\n";
    const bool head = request.method == "HEAD";
    if (!head) text += response.body.substr(0, response.cut_after.value_or(response.body.size()));
    for (std::size_t i = 0; response.drip.count() > 0 && i < text.size(); ++i) {
      co_await asio::async_write(socket_, asio::buffer(text.data() + i, 1), asio::use_awaitable);
      timer_.expires_after(response.drip);
      co_await timer_.async_wait(asio::use_awaitable);
    }
    if (response.drip.count() == 0)
      co_await asio::async_write(socket_, asio::buffer(text), asio::use_awaitable);
    if (head) co_return;
    std::uint64_t allowed = response.cut_after.value_or(size);
    allowed -= std::min<std::uint64_t>(allowed, response.body.size());
    for (const auto& file : response.files) {
      const std::uint64_t part = std::min(allowed, file.size);
      co_await send_file(file, part);
      allowed -= part;
    }
    if (response.cut_after) throw Hangup();
  }

  asio::awaitable<void> send_file(const FileRange& range, std::uint64_t size) {
    const UniqueFd file(::open(range.path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) throw Hangup();
    socket_.native_non_blocking(true);
    auto offset = static_cast<off_t>(range.offset);
    while (size > 0) {
      const ssize_t n =
          ::sendfile(socket_.native_handle(), file.get(), &offset, static_cast<std::size_t>(size));
      if (n > 0) {
        size -= static_cast<std::uint64_t>(n);
      } else if (n < 0 && errno == EAGAIN) {
        co_await socket_.async_wait(tcp::socket::wait_write, asio::use_awaitable);
      } else if (n == 0 || errno != EINTR) {
        throw Hangup();
      }
    }
  }

  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  tcp::socket socket_;
  Handler& handler_;
  asio::steady_timer timer_;
  std::string buffer_;  // read but not yet used
  std::string piece_;
};

}  // namespace

asio::awaitable<void> serve_connection(tcp::socket socket, Handler& handler) {
  Connection connection(std::move(socket), handler);
  try {
    co_await connection.serve();
  } catch (const Hangup&) {
  } catch (const std::system_error&) {
    // The other side closed the connection.
  } catch (const std::exception& e) {
    fmt::print(stderr, "assay-cloud-emulator: {}\n", e.what());
  }
}

}  // namespace assay::emulator
