#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/metrics_server.h"
#include "core/files.h"
#include "core/time.h"

namespace assay::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace std::chrono_literals;

// A server on a free port of the loopback, on a thread of its own.
class MetricsEndpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(server_.listen("127.0.0.1:0"), "");
    port_ = server_.port();
    thread_ = std::thread([this] { loop_.run(); });
  }
  void TearDown() override {
    asio::post(loop_, [this] { server_.close(); });
    thread_.join();  // the loop runs out of work once everything is closed
  }

  [[nodiscard]] UniqueFd connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port_));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  // Everything until the other side closes.
  static std::string read_all(const UniqueFd& fd) {
    std::string out;
    char buffer[4096];
    for (;;) {
      pollfd ready{fd.get(), POLLIN, 0};
      if (::poll(&ready, 1, 20'000) <= 0) return out + "(no end)";
      const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
      if (n <= 0) return out;
      out.append(buffer, static_cast<std::size_t>(n));
    }
  }
  [[nodiscard]] std::string ask(const std::string& request) const {
    const UniqueFd fd = connect();
    (void)::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL);
    return read_all(fd);
  }

  asio::io_context loop_;
  std::atomic<int> rendered_ = 0;
  MetricsServer server_{loop_, [this] { return "page " + std::to_string(++rendered_) + "\n"; }};
  int port_ = 0;
  std::thread thread_;
};

TEST_F(MetricsEndpoint, AnswersGetAndHead) {
  const std::string page = ask("GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(page.ends_with("\r\n\r\npage 1\n")) << page;
  EXPECT_TRUE(ask("HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
}

TEST_F(MetricsEndpoint, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(ask("GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(ask("POST /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(ask("what is this\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(ask("\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(rendered_, 0);
}

TEST_F(MetricsEndpoint, EndsARequestThatIsTooLong) {
  const std::string page = ask("GET /metrics HTTP/1.1\r\nX: " + std::string(20'000, 'a'));
  EXPECT_THAT(page, StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsEndpoint, EndsAClientThatSaysNothing) {
  const UniqueFd silent = connect();
  const std::int64_t begun = mono_now_ns();
  EXPECT_EQ(read_all(silent), "");
  const double waited = static_cast<double>(mono_now_ns() - begun) * 1e-9;
  EXPECT_GT(waited, 4);
}

TEST_F(MetricsEndpoint, AnswersThoughSlowClientsHoldMoreConnectionsThanThereMayBe) {
  std::vector<UniqueFd> slow;
  for (std::size_t i = 0; i < 2 * MetricsServer::kConnections; ++i) {
    slow.push_back(connect());
    (void)::send(slow.back().get(), "GET /me", 7, MSG_NOSIGNAL);
  }
  EXPECT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  EXPECT_EQ(read_all(slow.front()), "");  // the oldest made room
}

TEST_F(MetricsEndpoint, LimitsConnectionsAndPagesPerSecond) {
  const std::int64_t begun = mono_now_ns();
  const int asked = 3 * MetricsServer::kPerSecond;
  for (int i = 0; i < asked; ++i)
    ASSERT_THAT(ask("GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200 "));
  const double took = static_cast<double>(mono_now_ns() - begun) * 1e-9;
  EXPECT_GE(took, 1.9);  // the first 50 at once, then 50 a second
  EXPECT_LE(rendered_, 2 + static_cast<int>(took * 10));
}

TEST_F(MetricsEndpoint, SaysThatAPortIsTaken) {
  MetricsServer other(loop_, [] { return std::string(); });
  const std::string taken = "127.0.0.1:" + std::to_string(port_);
  EXPECT_EQ(other.listen(taken), "cannot listen on " + taken + ": Address already in use");
  EXPECT_EQ(other.port(), 0);
  EXPECT_THAT(other.listen("nonsense"), HasSubstr("is not an address and a port"));
}

}  // namespace
}  // namespace assay::agent
