#include "agent/metrics_server.h"

#include <array>
#include <string_view>

#include <asio/ip/address.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <fmt/format.h>

#include "core/address.h"
#include "core/time.h"

namespace assay::agent {

namespace {

using asio::ip::tcp;

// How much a client's further input is drained after its answer; a reset would take the answer away
// from it.
constexpr std::size_t kDrainBytes = 65536;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

std::string head(std::string_view status, std::string_view extra, std::size_t length) {
  return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\nConnection: close\r\n\r\n", status,
                     extra, length);
}

std::string plain(std::string_view status, std::string_view text, std::string_view extra = {}) {
  return head(status, fmt::format("Content-Type: text/plain; charset=utf-8\r\n{}", extra),
              text.size()) +
         std::string(text);
}

}  // namespace

class MetricsServer::Connection : public LimitedConnection<Connection> {
 public:
  Connection(MetricsServer& server, tcp::socket socket)
      : LimitedConnection(std::move(socket)), server_(server) {}

  void start() {
    allow(kDeadline);
    read();
  }

 private:
  void read() {
    socket_.async_read_some(
        asio::buffer(request_.data() + size_, request_.size() - size_),
        [self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
          if (self->over(ec)) return;
          self->size_ += n;
          const std::string_view text(self->request_.data(), self->size_);
          if (text.find("\r\n\r\n") != std::string_view::npos ||
              text.find("\n\n") != std::string_view::npos)
            return self->answer(text.substr(0, text.find_first_of("\r\n")));
          if (self->size_ < self->request_.size()) return self->read();
          self->reply(plain("431 Request Header Fields Too Large", "the request is too long\n"));
        });
  }

  void answer(std::string_view line) {
    ++server_.requests_;
    const auto first = line.find(' ');
    const auto second = line.find(' ', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos ||
        !line.substr(second + 1).starts_with("HTTP/1."))
      return reply(plain("400 Bad Request", "this is not HTTP/1.1\n"));
    const std::string_view method = line.substr(0, first);
    std::string_view path = line.substr(first + 1, second - first - 1);
    path = path.substr(0, path.find('?'));
    if (method != "GET" && method != "HEAD")
      return reply(plain("405 Method Not Allowed", "only GET\n", "Allow: GET, HEAD\r\n"));
    if (path != "/metrics") return reply(plain("404 Not Found", "there is /metrics\n"));
    page_ = server_.page();
    std::string answer =
        head("200 OK", "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n", page_->size());
    if (method == "HEAD") page_.reset();
    reply(std::move(answer));
  }

  void reply(std::string head) {
    head_ = std::move(head);
    const std::string_view body = page_ ? std::string_view(*page_) : std::string_view();
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head_), asio::buffer(body)};
    asio::async_write(socket_, parts,
                      [self = shared_from_this()](const asio::error_code& ec, std::size_t) {
                        if (self->over(ec)) return;
                        asio::error_code ignored;
                        self->socket_.shutdown(tcp::socket::shutdown_send, ignored);
                        self->drain();
                      });
  }

  void drain() {
    socket_.async_read_some(asio::buffer(request_),
                            [self = shared_from_this()](const asio::error_code& ec, std::size_t n) {
                              self->drained_ += n;
                              if (self->over(ec)) return;
                              if (self->drained_ > kDrainBytes) return self->close();
                              self->drain();
                            });
  }

  MetricsServer& server_;
  std::array<char, kRequestBytes> request_{};
  std::size_t size_ = 0;
  std::size_t drained_ = 0;
  std::string head_;
  std::shared_ptr<const std::string> page_;
};

MetricsServer::MetricsServer(asio::io_context& loop, std::function<std::string()> render)
    : loop_(loop), render_(std::move(render)), acceptor_(loop), pause_(loop) {}

MetricsServer::~MetricsServer() {
  close();
}

std::string MetricsServer::listen(const std::string& endpoint) {
  if (port_ != 0 && endpoint == endpoint_) return {};
  close();
  const auto parsed = parse_endpoint(endpoint);
  if (!parsed) return "'" + endpoint + "' is not an address and a port";
  asio::error_code ec;
  const auto address = asio::ip::make_address(parsed->address, ec);
  const tcp::endpoint at(address, static_cast<std::uint16_t>(parsed->port));
  if (!ec) ec = listen_at(acceptor_, at);
  if (ec) return "cannot listen on " + endpoint + ": " + ec.message();
  endpoint_ = endpoint;
  port_ = acceptor_.local_endpoint(ec).port();
  accept();
  return {};
}

void MetricsServer::close() {
  asio::error_code ignored;
  port_ = 0;
  pause_.cancel();
  acceptor_.close(ignored);
  connections_.close_all();
}

void MetricsServer::accept() {
  acceptor_.async_accept([this](const asio::error_code& ec, tcp::socket socket) {
    if (ec == asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!ec) admit(std::move(socket));
    const std::int64_t now_ns = mono_now_ns();
    if (now_ns - second_began_ns_ >= kNanosecondsPerSecond) {
      second_began_ns_ = now_ns;
      in_second_ = 0;
    }
    // An error (no descriptors left) would repeat at once.
    if (!ec && ++in_second_ < kPerSecond) return accept();
    pause_.expires_at(asio::steady_timer::time_point(
        std::chrono::nanoseconds(second_began_ns_ + kNanosecondsPerSecond)));
    pause_.async_wait([this](const asio::error_code& cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

void MetricsServer::admit(tcp::socket socket) {
  if (connections_.count() >= kConnections) {
    connections_.close_oldest();
    ++evicted_;
  }
  connections_.start(std::make_shared<Connection>(*this, std::move(socket)));
}

std::shared_ptr<const std::string> MetricsServer::page() {
  const std::int64_t now_ns = mono_now_ns();
  if (!page_ || now_ns - rendered_ns_ >= std::chrono::nanoseconds(kFresh).count()) {
    page_ = std::make_shared<const std::string>(render_());
    rendered_ns_ = now_ns;
  }
  return page_;
}

}  // namespace assay::agent
