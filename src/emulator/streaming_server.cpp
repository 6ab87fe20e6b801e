#include "emulator/streaming_server.h"

#include <atomic>
#include <csignal>
#include <thread>

#include <asio.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "emulator/http_connection.h"

namespace assay::emulator {

std::string ServerRequest::header(const std::string& lower_name) const {
  const auto at = headers.find(lower_name);
  return at == headers.end() ? "" : at->second;
}

std::optional<std::string> ServerRequest::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return value;
  return std::nullopt;
}

int ServerRequest::number(std::string_view name, int fallback) const {
  return parse_number<int>(parameter(name).value_or("")).value_or(fallback);
}

struct HttpServer::State {
  explicit State(Handler& given) : handler(given) {}
  Handler& handler;
  asio::io_context context{1};
  asio::ip::tcp::acceptor acceptor{context};
  asio::signal_set signals{context, SIGTERM, SIGINT};
  std::atomic<std::uint64_t> connections{0};
  // A connection stays with one thread: handing it over would require waking a thread for every
  // piece of work.
  std::vector<std::unique_ptr<asio::io_context>> others;

  asio::awaitable<void> accept() {
    for (;;) {
      const std::uint64_t turn = connections++ % (1 + others.size());
      asio::io_context& place = turn == 0 ? context : *others[turn - 1];
      auto socket = co_await acceptor.async_accept(place, asio::use_awaitable);
      asio::co_spawn(place, serve_connection(std::move(socket), handler), asio::detached);
    }
  }
};

HttpServer::HttpServer(Handler& handler, const std::string& address, int port)
    : state_(std::make_unique<State>(handler)) {
  using asio::ip::tcp;
  try {
    const tcp::endpoint endpoint(asio::ip::make_address(address),
                                 static_cast<asio::ip::port_type>(port));
    state_->acceptor.open(endpoint.protocol());
    state_->acceptor.set_option(tcp::acceptor::reuse_address(true));
    state_->acceptor.bind(endpoint);
    state_->acceptor.listen(1024);
  } catch (const std::system_error& e) {
    throw Error(ErrorKind::environment, fmt::format("cannot listen: {}", e.code().message()),
                fmt::format("{}:{}", address, port), "choose another address or port");
  }
}

HttpServer::~HttpServer() = default;

int HttpServer::port() const {
  return state_->acceptor.local_endpoint().port();
}

std::uint64_t HttpServer::connections() const {
  return state_->connections;
}

void HttpServer::run(int threads) {
  for (int i = 1; i < threads; ++i) state_->others.push_back(std::make_unique<asio::io_context>(1));
  state_->signals.async_wait([this](const std::error_code&, int) {
    for (const auto& other : state_->others) other->stop();
    state_->context.stop();
  });
  asio::co_spawn(state_->context, state_->accept(), asio::detached);
  std::vector<std::jthread> workers;
  for (const auto& other : state_->others)
    workers.emplace_back([context = other.get()] {
      const auto stay = asio::make_work_guard(*context);
      context->run();
    });
  state_->context.run();
}

}  // namespace assay::emulator
