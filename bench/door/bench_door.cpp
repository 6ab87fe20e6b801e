// A download of 1 GiB from a program on this machine, directly and through the server's door.

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/files.h"
#include "door/relays.h"
#include "serve/http_server.h"

namespace {

using namespace assay;

constexpr std::size_t kBytes = std::size_t{1} << 30;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

UniqueFd connect_to(std::uint16_t port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in to = loopback(port);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) std::abort();
  return fd;
}

/// Answers every request with 1 GiB.
class Application {
 public:
  Application() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at = loopback(0);
    socklen_t size = sizeof at;
    auto* generic = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 10) != 0 ||
        ::getsockname(listener_.get(), generic, &size) != 0)
      std::abort();
    port_ = ntohs(at.sin_port);
    std::thread([this] {
      while (true) answer(UniqueFd(::accept(listener_.get(), nullptr, nullptr)));
    }).detach();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  static void answer(const UniqueFd& peer) {
    std::string request;
    std::array<char, 4096> buffer{};
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = ::read(peer.get(), buffer.data(), buffer.size());
      if (n <= 0) return;
      request.append(buffer.data(), static_cast<std::size_t>(n));
    }
    const std::string head = fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", kBytes);
    (void)!::write(peer.get(), head.data(), head.size());
    static const std::vector<char> kPiece(std::size_t{1} << 20, 'x');
    for (std::size_t left = kBytes; left > 0;) {
      const ssize_t n = ::write(peer.get(), kPiece.data(), std::min(left, kPiece.size()));
      if (n <= 0) return;
      left -= static_cast<std::size_t>(n);
    }
  }
  UniqueFd listener_;
  std::uint16_t port_ = 0;
};

void download(benchmark::State& state, std::uint16_t port) {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (auto _ : state) {
    const UniqueFd fd = connect_to(port);
    constexpr std::string_view kRequest = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    if (::write(fd.get(), kRequest.data(), kRequest.size()) < 0) std::abort();
    std::size_t got = 0;
    while (got < kBytes) {
      const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
      if (n <= 0) break;
      got += static_cast<std::size_t>(n);
    }
    if (got < kBytes) state.SkipWithError("the download was cut");
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kBytes));
}

Application& application() {
  static Application one;
  return one;
}

void direct(benchmark::State& state) {
  download(state, application().port());
}

void through_the_door(benchmark::State& state) {
  door::Relays relays;
  serve::HttpOptions options;
  options.read_timeout = options.handling_timeout = std::chrono::seconds(60);
  options.max_body = 1000;
  serve::HttpServer server(
      options, [&](const serve::HttpRequest&, const serve::HttpServer::Respond& respond) {
        serve::HttpResponse response;
        response.take_over = [&](UniqueFd peer) {
          door::Passage passage{.stream = connect_to(application().port())};
          ::fcntl(passage.stream.get(), F_SETFL, O_NONBLOCK);
          relays.exchange(std::move(peer), std::move(passage), {.user = "ann"},
                          {.method = "GET",
                           .bytes = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
                           .refuse = [](int, const std::string&) { return std::string(); }});
        };
        respond(response);
      });
  server.start();
  download(state, server.port());
  server.stop();
}

// The processor time covers all three: application, door and client.
BENCHMARK(direct)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();
BENCHMARK(through_the_door)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
