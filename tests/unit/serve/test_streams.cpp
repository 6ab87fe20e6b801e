#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "eventually.h"
#include "serve/http_server.h"

namespace assay::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// "/stream" gives a stream to the test, everything else is answered at once.
class StreamsTest : public ::testing::Test {
 protected:
  StreamsTest()
      : server_(options(), [this](const HttpRequest& request, const HttpServer::Respond& respond) {
          HttpResponse response;
          response.body = "hello\n";
          if (request.path == "/stream") {
            response.type = "text/event-stream";
            response.streaming.last_words = "too slow\n";
            response.streaming.begin = [this](const std::shared_ptr<HttpStream>& stream) {
              const std::scoped_lock lock(lock_);
              streams_.push_back(stream);
            };
          }
          if (request.path == "/taken")
            response.take_over = [this](UniqueFd peer) {
              const std::scoped_lock lock(lock_);
              taken_.push_back(std::move(peer));
            };
          respond(response);
        }) {
    server_.start();
  }
  static HttpOptions options() {
    HttpOptions options;
    options.read_timeout = options.handling_timeout = std::chrono::seconds(20);
    options.connections.total = 4;
    options.connections.per_address = 4;
    options.connections.streams = 20;
    options.max_body = 1000;
    return options;
  }
  [[nodiscard]] UniqueFd ask(const std::string& method, const std::string& path,
                             const std::string& version = "HTTP/1.1") const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server_.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string request = fmt::format("{} {} {}\r\nHost: x\r\n\r\n", method, path, version);
    EXPECT_EQ(::write(fd.get(), request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    return fd;
  }
  // Until it has that text, or the connection ends.
  static std::string read_until(int fd, const std::string& text) {
    std::string out;
    char buffer[4096];
    while (out.find(text) == std::string::npos) {
      const ssize_t n = ::read(fd, buffer, sizeof buffer);
      if (n <= 0) break;
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }
  static std::string read_all(int fd) { return read_until(fd, std::string("\0never", 6)); }
  std::shared_ptr<HttpStream> stream(std::size_t i) {
    EXPECT_TRUE(testing::eventually([&] {
      const std::scoped_lock lock(lock_);
      return streams_.size() > i;
    }));
    const std::scoped_lock lock(lock_);
    return streams_.at(i);
  }

  std::mutex lock_;
  std::vector<UniqueFd> taken_;
  std::vector<std::shared_ptr<HttpStream>> streams_;
  HttpServer server_;
};

// Four connections are allowed at a time: what was taken counts no more, nor is it cut for silence.
TEST_F(StreamsTest, AConnectionIsTakenOver) {
  std::vector<UniqueFd> peers;
  for (std::size_t i = 0; i < 10; ++i) {
    peers.push_back(ask("GET", "/taken"));
    ASSERT_TRUE(testing::eventually([&] {
      const std::scoped_lock lock(lock_);
      return taken_.size() == i + 1;
    }));
  }
  EXPECT_EQ(server_.unanswered(), 0U);
  const std::scoped_lock lock(lock_);
  for (std::size_t i = 0; i < peers.size(); ++i) {
    ASSERT_EQ(::write(taken_[i].get(), "whatever", 8), 8);
    EXPECT_EQ(read_until(peers[i].get(), "whatever"), "whatever") << "nothing of HTTP before it";
    ASSERT_EQ(::write(peers[i].get(), "back", 4), 4);
  }
  std::string back(4, ' ');
  ASSERT_TRUE(
      testing::eventually([&] { return ::read(taken_[0].get(), back.data(), back.size()) == 4; }));
  EXPECT_EQ(back, "back");
}

// It knows no chunks: what it gets is what was written, until the connection ends.
TEST_F(StreamsTest, HasNoChunksForHttp10) {
  const UniqueFd fd = ask("GET", "/stream", "HTTP/1.0");
  const std::string head = read_until(fd.get(), "hello\n");
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, Not(HasSubstr("Transfer-Encoding")));
  EXPECT_THAT(head, Not(HasSubstr("Content-Length")));
  EXPECT_TRUE(head.ends_with("\r\n\r\nhello\n")) << head;
  EXPECT_TRUE(stream(0)->write("one\n"));
  EXPECT_EQ(read_until(fd.get(), "one\n"), "one\n");
  EXPECT_TRUE(stream(0)->write("two\n"));
  stream(0)->end();
  EXPECT_EQ(read_all(fd.get()), "two\n");
  EXPECT_TRUE(testing::eventually([&] { return server_.unanswered() == 0; }));
}

TEST_F(StreamsTest, SendWhatIsWrittenAsItComes) {
  const UniqueFd fd = ask("GET", "/stream");
  EXPECT_THAT(read_until(fd.get(), "hello\n"), HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_TRUE(stream(0)->write("one\n"));
  EXPECT_THAT(read_until(fd.get(), "one\n"), HasSubstr("one\n"));
  EXPECT_TRUE(stream(0)->write("two\n"));
  stream(0)->end();
  const std::string rest = read_all(fd.get());
  EXPECT_THAT(rest, HasSubstr("two\n"));
  EXPECT_THAT(rest, HasSubstr("0\r\n\r\n")) << "a whole answer";
  EXPECT_FALSE(stream(0)->write("three"));
  EXPECT_TRUE(testing::eventually([&] { return server_.unanswered() == 0; }));
}

TEST_F(StreamsTest, WhoHasGoneIsNoticed) {
  {
    const UniqueFd fd = ask("GET", "/stream");
    (void)read_until(fd.get(), "hello\n");
  }
  EXPECT_TRUE(testing::eventually([&] { return !stream(0)->write("x"); }));
  EXPECT_TRUE(stream(0)->gone());
}

TEST_F(StreamsTest, WhoReadsTooSlowlyIsToldAndLetGo) {
  const UniqueFd fd = ask("GET", "/stream");
  (void)read_until(fd.get(), "hello\n");
  const std::string piece(100'000, 'x');
  bool taken = true;
  for (int i = 0; i < 1000 && taken; ++i) taken = stream(0)->write(piece);
  EXPECT_FALSE(taken) << "what waits is bounded";
  EXPECT_EQ(stream(0)->room(), 0U);
  const std::string rest = read_all(fd.get());
  // On a busy machine nothing else may have been sent.
  EXPECT_THAT(rest.substr(rest.size() - std::min<std::size_t>(rest.size(), 100)),
              HasSubstr("too slow\n"));
}

TEST_F(StreamsTest, DoNotTakeThePlacesOfRequests) {
  std::vector<UniqueFd> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(ask("GET", "/stream"));
    EXPECT_THAT(read_until(open.back().get(), "hello\n"), HasSubstr("200 OK")) << i;
  }
  const UniqueFd plain = ask("GET", "/plain");
  EXPECT_THAT(read_until(plain.get(), "hello\n"), HasSubstr("200 OK"));
  const UniqueFd more = ask("GET", "/stream");
  EXPECT_THAT(read_until(more.get(), "streams are open"), HasSubstr("503 Service Unavailable"));
  open.clear();
  EXPECT_TRUE(testing::eventually([&] {
    for (std::size_t i = 0; i < 20; ++i) (void)stream(i)->write("x");
    const UniqueFd again = ask("GET", "/stream");
    return read_until(again.get(), "\n\r\n").find("200 OK") != std::string::npos;
  })) << "their places come back";
}

TEST_F(StreamsTest, HeadHasNoStream) {
  const UniqueFd fd = ask("HEAD", "/stream");
  const std::string reply = read_until(fd.get(), "\r\n\r\n");
  EXPECT_THAT(reply, HasSubstr("200 OK"));
  EXPECT_THAT(reply, Not(HasSubstr("hello")));
  EXPECT_TRUE(testing::eventually([&] { return server_.unanswered() == 0; }));
  const std::scoped_lock lock(lock_);
  EXPECT_TRUE(streams_.empty());
}

TEST_F(StreamsTest, EndWithTheServer) {
  const UniqueFd fd = ask("GET", "/stream");
  (void)read_until(fd.get(), "hello\n");
  (void)stream(0)->write("last\n");
  server_.end_streams();
  EXPECT_THAT(read_all(fd.get()), HasSubstr("last\n"));
  EXPECT_TRUE(testing::eventually([&] { return server_.unanswered() == 0; }));
}

TEST(Streams, WhoHoldsOneMayOutliveTheServer) {
  std::shared_ptr<HttpStream> held;
  {
    HttpOptions options;
    options.read_timeout = options.handling_timeout = std::chrono::seconds(20);
    std::atomic<bool> begun = false;
    HttpServer server(options, [&](const HttpRequest&, const HttpServer::Respond& respond) {
      HttpResponse response;
      response.streaming.begin = [&](const std::shared_ptr<HttpStream>& stream) {
        held = stream;
        begun = true;
      };
      respond(response);
    });
    server.start();
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const std::string request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_GT(::write(fd.get(), request.data(), request.size()), 0);
    ASSERT_TRUE(testing::eventually([&] { return begun.load(); }));
  }
  EXPECT_FALSE(held->write("x"));
}

}  // namespace
}  // namespace assay::serve
