#include "automl/worker_server.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <fmt/format.h>

#include "core/error.h"
#include "core/secret_token.h"
#include "core/text.h"

namespace assay::automl {

namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kRetryAfter = 250ms;
constexpr auto kHelloLimit = 10s;
constexpr std::size_t kMaxHello = 64 << 10;   // bytes from a connection that has not sent the token
constexpr std::size_t kMaxStrangers = 1024;   // such connections at once
constexpr std::size_t kMaxQueued = 16;        // messages that a worker has not read
constexpr std::size_t kPiece = 256 << 10;     // of weights
constexpr std::int64_t kBytesPerWeight = 64;  // in a file, at most: a large kernel_size counts
constexpr std::int64_t kMinWeights = 16 << 20;

}  // namespace

struct WorkerServer::Connection {
  Connection(tcp::socket s, int n) : socket(std::move(s)), timer(socket.get_executor()), id(n) {}
  tcp::socket socket;
  asio::steady_timer timer;  // of the hello
  int id;
  std::string who = "a stranger";
  bool known = false;
  bool closed = false;
  bool close_when_sent = false;
  std::size_t received = 0;
  Framing framing;
  std::optional<WeightsStore::Upload> upload;
  std::deque<std::variant<std::string, WeightsStore::Download>> outbox;
  bool writing = false;
};

WorkerServer::WorkerServer(asio::io_context& loop, WeightsStore& weights, Hooks hooks)
    : loop_(loop),
      weights_(weights),
      hooks_(std::move(hooks)),
      token_(make_token()),
      acceptor_(loop),
      retry_(loop) {}

void WorkerServer::listen(const std::string& bind_address) {
  asio::error_code ec;
  const auto address = asio::ip::make_address(bind_address, ec);
  const auto fail = [&](const asio::error_code& why) {
    throw Error(ErrorKind::environment, "cannot listen for workers: " + why.message(), bind_address,
                "correct automl.address in the suite");
  };
  if (ec) fail(ec);
  const tcp::endpoint endpoint(address, 0);
  if (!ec) acceptor_.open(endpoint.protocol(), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) fail(ec);
}

void WorkerServer::accept() {
  acceptor_.async_accept([self = weak_from_this()](const asio::error_code& ec, tcp::socket s) {
    const auto alive = self.lock();
    if (!alive || alive->stopped_) return;
    if (!ec) alive->on_accepted(std::move(s));
    if (ec == asio::error::operation_aborted) return;
    if (!ec) return alive->accept();
    // No descriptors left: those that end will give some back.
    alive->retry_.expires_after(kRetryAfter);
    alive->retry_.async_wait([self](const asio::error_code& cancelled) {
      if (const auto again = self.lock(); again && !cancelled && !again->stopped_) again->accept();
    });
  });
}

void WorkerServer::on_accepted(tcp::socket socket) {
  if (all_.size() - known_.size() >= kMaxStrangers) return;
  asio::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto peer = std::make_shared<Connection>(std::move(socket), next_id_++);
  all_[peer->id] = peer;
  peer->timer.expires_after(kHelloLimit);
  peer->timer.async_wait([self = weak_from_this(), peer](const asio::error_code& ec) {
    const auto alive = self.lock();
    if (alive && !ec && !peer->known) alive->drop(peer);
  });
  asio::co_spawn(loop_, read(shared_from_this(), peer), asio::detached);
}

asio::awaitable<void> WorkerServer::read(std::weak_ptr<WorkerServer> self, Peer peer) {
  std::vector<char> buffer(64 << 10);
  std::string reason = "the connection was closed";
  for (;;) {
    asio::error_code ec;
    const std::size_t n = co_await peer->socket.async_read_some(
        asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
    const auto alive = self.lock();
    if (!alive || peer->closed) co_return;
    if (ec) {
      if (ec != asio::error::eof) reason = ec.message();
      alive->gone(peer, reason);
      co_return;
    }
    try {
      alive->received(peer, {buffer.data(), n});
    } catch (const Error& error) {
      alive->gone(peer, error.message());
      co_return;
    }
    if (peer->closed) co_return;
  }
}

void WorkerServer::received(const Peer& peer, std::string_view bytes) {
  peer->received += bytes.size();
  if (!peer->known && peer->received > kMaxHello)
    throw Error(ErrorKind::round_failed, "too much before the token");
  peer->framing.feed(bytes);
  while (!peer->closed) {
    if (peer->upload) {
      const std::int64_t piece =
          std::min<std::int64_t>(peer->upload->missing(), static_cast<std::int64_t>(kPiece));
      const auto raw = peer->framing.raw(piece);
      if (!raw) return;
      peer->upload->write(*raw);
      if (peer->upload->missing() == 0) {
        peer->upload->finish();
        peer->upload.reset();
      }
      // A long upload is a sign of life too.
      hooks_.received(peer->id, Alive{});
      continue;
    }
    const auto line = peer->framing.line(peer->who);
    if (!line) return;
    handle(peer, *line);
  }
}

void WorkerServer::handle(const Peer& peer, const std::string& line) {
  std::optional<WorkerMessage> message;
  try {
    message = decode_worker_message(line, peer->who);
  } catch (const Error& error) {
    if (!peer->known || !refuse_result(peer, line, error.message())) throw;
    return;
  }
  if (const auto* hello = std::get_if<Hello>(&*message)) return greet(peer, *hello);
  if (!peer->known) throw Error(ErrorKind::round_failed, "the first line is not a hello");
  if (const auto* fetch = std::get_if<Fetch>(&*message)) {
    auto download = weights_.open(fetch->trial);
    push(peer,
         encode(CoordinatorMessage(Weights{fetch->trial, download ? download->missing() : 0})));
    if (download) push(peer, std::move(*download));
  } else if (const auto* weights = std::get_if<Weights>(&*message)) {
    const auto parameters = hooks_.parameters(weights->trial);
    if (!parameters) throw Error(ErrorKind::round_failed, "weights of an unknown trial");
    if (weights->bytes > kMinWeights + kBytesPerWeight * *parameters)
      throw Error(ErrorKind::round_failed, "more weights than the model has");
    if (weights->bytes > 0) peer->upload.emplace(weights_.receive(weights->trial, weights->bytes));
  }
  hooks_.received(peer->id, *message);
}

// A result that is not a number makes the trial fail, not the worker.
bool WorkerServer::refuse_result(const Peer& peer, const std::string& line,
                                 const std::string& why) {
  const Json json = parse_json_or_null(line);
  if (!json.is_object() || !json.contains("trial") || !json["trial"].is_number_integer())
    return false;
  const std::string type = json.contains("type") && json["type"].is_string() ? json["type"] : "";
  if (type != "epoch" && type != "done") return false;
  hooks_.failed(peer->id, json["trial"].get<std::int64_t>(), why);
  return true;
}

void WorkerServer::greet(const Peer& peer, const Hello& hello) {
  std::string problem;
  if (peer->known) problem = "a second hello";
  if (hello.protocol != kProtocolVersion)
    problem = fmt::format("protocol {} is spoken here, not {}", kProtocolVersion, hello.protocol);
  if (!same_token(hello.token, token_)) problem = "the token is wrong";
  if (!problem.empty()) {
    push(peer, encode(CoordinatorMessage(Refuse{problem})));
    if (peer->known) throw Error(ErrorKind::round_failed, problem);
    peer->close_when_sent = true;
    return;
  }
  peer->known = true;
  peer->timer.cancel();
  peer->who = fmt::format("worker {} on {}", hello.rank, ellipsize(printable(hello.host), 60));
  known_[peer->id] = peer;
  hooks_.joined(peer->id, hello);
}

void WorkerServer::send(int worker, const CoordinatorMessage& message) {
  const auto at = all_.find(worker);
  if (at == all_.end()) return;
  try {
    push(at->second, encode(message));
  } catch (const Error& error) {
    // A graph that does not fit into a line.
    if (const auto* trial = std::get_if<Trial>(&message))
      asio::post(loop_,
                 [self = weak_from_this(), worker, id = trial->trial, why = error.message()] {
                   const auto alive = self.lock();
                   if (alive && !alive->stopped_) alive->hooks_.failed(worker, id, why);
                 });
  }
}

void WorkerServer::push(const Peer& peer, Item item) {
  if (peer->closed || peer->close_when_sent) return;
  if (peer->outbox.size() >= kMaxQueued) {
    asio::post(loop_, [self = weak_from_this(), peer] {
      if (const auto alive = self.lock()) alive->gone(peer, "it does not read what it asks for");
    });
    return;
  }
  peer->outbox.push_back(std::move(item));
  if (peer->writing) return;
  peer->writing = true;
  asio::co_spawn(loop_, write(shared_from_this(), peer), asio::detached);
}

asio::awaitable<void> WorkerServer::write(std::weak_ptr<WorkerServer> self, Peer peer) {
  while (!peer->closed && !peer->outbox.empty()) {
    std::string piece;
    bool whole = true;
    if (auto* text = std::get_if<std::string>(&peer->outbox.front())) {
      piece = std::move(*text);
    } else {
      auto& download = std::get<WeightsStore::Download>(peer->outbox.front());
      piece = download.read(kPiece);
      whole = download.missing() == 0;
    }
    asio::error_code ec;
    co_await asio::async_write(peer->socket, asio::buffer(piece),
                               asio::redirect_error(asio::use_awaitable, ec));
    if (ec || peer->closed) break;
    if (whole) peer->outbox.pop_front();
  }
  peer->writing = false;
  const auto alive = self.lock();
  if (alive && peer->close_when_sent && !peer->closed) alive->drop(peer);
}

void WorkerServer::drop(int worker) {
  if (const auto at = all_.find(worker); at != all_.end()) drop(Peer(at->second));
}

void WorkerServer::refuse(int worker, const std::string& reason) {
  const auto at = all_.find(worker);
  if (at == all_.end()) return;
  const Peer peer = at->second;
  push(peer, encode(CoordinatorMessage(Refuse{reason})));
  peer->close_when_sent = true;
  known_.erase(worker);
  // One that does not read it does not stay for that.
  peer->timer.expires_after(kHelloLimit);
  peer->timer.async_wait([self = weak_from_this(), peer](const asio::error_code& ec) {
    const auto alive = self.lock();
    if (alive && !ec) alive->drop(peer);
  });
}

void WorkerServer::close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  stopped_ = true;
  const auto all = all_;
  for (const auto& [id, peer] : all) drop(peer);
}

void WorkerServer::drop(const Peer& peer) {
  if (peer->closed) return;
  peer->closed = true;
  peer->timer.cancel();
  // What was sent and is still on its way (a refusal, a stop) arrives.
  asio::error_code ignored;
  peer->socket.shutdown(tcp::socket::shutdown_send, ignored);
  peer->socket.close(ignored);
  all_.erase(peer->id);
  known_.erase(peer->id);
  hooks_.dropped();
}

void WorkerServer::gone(const Peer& peer, const std::string& reason) {
  if (peer->closed) return;
  const bool known = peer->known;
  drop(peer);
  if (known) hooks_.left(peer->id, reason);
}

}  // namespace assay::automl
