#include "automl/coordinator.h"

#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <fmt/format.h>
#include <sys/random.h>

#include "automl/journal.h"
#include "automl/weights_store.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"

namespace assay::automl {

namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kHelloLimit = 10s;
constexpr auto kLeaveLimit = 10s;
constexpr auto kTickEvery = 250ms;
constexpr std::size_t kMaxHello = 64 << 10;   // bytes from somebody who has not said the token
constexpr std::size_t kMaxStrangers = 1024;   // such connections at once
constexpr std::size_t kMaxQueued = 16;        // messages that a worker has not read
constexpr std::size_t kPiece = 256 << 10;     // of weights
constexpr std::int64_t kBytesPerWeight = 64;  // in a file, at most: a large kernel_size counts
constexpr std::int64_t kLeastWeights = 16 << 20;

std::string random_token() {
  std::array<unsigned char, 32> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw system_error(ErrorKind::environment, "cannot make a token", "getrandom", errno);
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Takes as long for a token that is nearly right as for any other.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

struct Connection {
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
using Peer = std::shared_ptr<Connection>;

}  // namespace

class Coordinator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& loop, const ExperimentSettings& settings, Options options)
      : options_(std::move(options)),
        loop_(loop),
        acceptor_(loop),
        tick_(loop),
        journal_(prepared(options_.directory) / "journal.jsonl"),
        weights_(options_.directory / "weights", settings.weights_bytes),
        experiment_(settings),
        planner_(settings),
        token_(random_token()) {
    const std::filesystem::path file = options_.directory / "journal.jsonl";
    const std::vector<Json> events = ExperimentJournal::read(file);
    std::vector<Planned> planned;
    if (!events.empty()) {
      planned = planner_.replay(events, file.string());
      for (const Json& event : events) base_s_ = std::max(base_s_, event["at_s"].get<double>());
    }
    listen();
    begun_ns_ = mono_now_ns();
    apply(experiment_.begin(now_s(), planned, events));
    commit();  // whoever has an object of this class has an experiment on the disk
    for (const Planned& p : planned)
      if (const auto accuracy = experiment_.accuracy(p.proposal.id))
        weights_.value(p.proposal.id, *accuracy);
  }

  void start() {
    started_ = true;
    accept();
    propose();
    tick();
  }

  void end(const std::string& reason, const std::string& detail) {
    apply(experiment_.end(now_s(), reason, detail));
  }

  asio::awaitable<void> run() {
    asio::error_code ec;
    std::optional<std::int64_t> since;
    while (!failure_) {
      if (experiment_.ended()) {
        if (!since) since = mono_now_ns();
        if (known_.empty() ||
            mono_now_ns() - *since > std::chrono::nanoseconds(kLeaveLimit).count())
          break;
      }
      wake_.expires_after(kTickEvery);
      co_await wake_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
    shut();
    if (failure_) std::rethrow_exception(failure_);
  }

  void shut() {
    if (!failure_) {
      try {
        journal_.commit();  // nobody is left for what follows from it
      } catch (...) {
        failure_ = std::current_exception();
      }
    }
    uncommitted_.clear();
    asio::error_code ignored;
    acceptor_.close(ignored);
    stopped_ = true;
    tick_.cancel();
    const auto all = all_;
    for (const auto& [id, peer] : all) drop(peer);
    pool_.stop();
    pool_.join();
  }

  [[nodiscard]] double now_s() const {
    return base_s_ + static_cast<double>(mono_now_ns() - begun_ns_) * 1e-9;
  }

  Options options_;
  asio::io_context& loop_;
  tcp::acceptor acceptor_;
  asio::steady_timer tick_;
  asio::steady_timer wake_{loop_};
  ExperimentJournal journal_;
  WeightsStore weights_;
  Experiment experiment_;

 private:
  static const std::filesystem::path& prepared(const std::filesystem::path& directory) {
    make_directories(directory);
    return directory;
  }

  void listen() {
    asio::error_code ec;
    const auto address = asio::ip::make_address(options_.bind_address, ec);
    const auto fail = [&](const asio::error_code& why) {
      throw Error(ErrorKind::environment, "cannot listen for workers: " + why.message(),
                  options_.bind_address, "correct automl.address in the suite");
    };
    if (ec) fail(ec);
    const tcp::endpoint endpoint(address, 0);
    if (!ec) acceptor_.open(endpoint.protocol(), ec);
    if (!ec) acceptor_.bind(endpoint, ec);
    if (!ec) acceptor_.listen(asio::socket_base::max_listen_connections, ec);
    if (ec) fail(ec);
  }

  // What follows from events waits until they are on the disk; those of one turn of the loop share
  // a sync, so that thousands of workers who speak at once do not wait for one each.
  // A journal that cannot be written ends the experiment, not the process.
  void apply(Experiment::Actions actions) {
    if (failure_) return;
    try {
      for (Json& event : actions.journal) {
        event["wall_ns"] = wall_now_ns();
        journal_.append(event);
      }
    } catch (...) {
      return fail();
    }
    actions.journal.clear();
    uncommitted_.push_back(std::move(actions));
    if (std::exchange(commit_asked_, true)) return;
    asio::post(loop_, [self = weak_from_this()] {
      if (const auto alive = self.lock()) alive->commit();
    });
  }

  void fail() {
    failure_ = std::current_exception();
    wake_.cancel();
  }

  void commit() {
    commit_asked_ = false;
    if (failure_) return;
    try {
      journal_.commit();
    } catch (...) {
      return fail();
    }
    // What is sent may fail and so lead to further actions.
    for (Experiment::Actions& actions : std::exchange(uncommitted_, {})) follow(actions);
    propose();
    if (experiment_.ended()) wake_.cancel();
    if (started_ && options_.on_progress) options_.on_progress();
  }

  void follow(Experiment::Actions& actions) {
    for (Experiment::Tell& tell : actions.tell) {
      if (tell.accuracy) weights_.value(tell.trial, *tell.accuracy);
      asio::post(pool_, [this, tell = std::move(tell)] {
        if (tell.accuracy)
          planner_.tell(tell.trial, *tell.accuracy);
        else
          planner_.tell_failed(tell.trial, tell.reason);
      });
    }
    for (Experiment::Send& send : actions.send) {
      const auto at = all_.find(send.worker);
      if (at != all_.end()) this->send(at->second, send.message);
    }
    for (const Experiment::Close& close : actions.close)
      if (const auto at = all_.find(close.worker); at != all_.end()) drop(at->second);
  }

  // The search works beside the loop, one proposal after the other, ahead of who will ask.
  void propose() {
    if (!started_ || stopped_ || failure_) return;
    for (int n = experiment_.proposals_wanted(proposing_); n > 0; --n) {
      ++proposing_;
      asio::post(pool_, [this, self = weak_from_this()] {
        const std::int64_t begun = mono_now_ns();
        std::optional<Planned> planned;
        std::string problem;
        try {
          planned = planner_.propose();
          planned->search_s = static_cast<double>(mono_now_ns() - begun) * 1e-9;
        } catch (const std::exception& error) {
          const auto* known = dynamic_cast<const Error*>(&error);
          problem = known != nullptr ? known->message() : error.what();
        }
        asio::post(loop_, [self, planned = std::move(planned), problem]() mutable {
          const auto alive = self.lock();
          if (alive) alive->on_proposed(std::move(planned), problem);
        });
      });
    }
  }

  void on_proposed(std::optional<Planned> planned, const std::string& problem) {
    --proposing_;
    if (stopped_ || experiment_.ended()) return;
    apply(planned ? experiment_.proposed(now_s(), std::move(*planned))
                  : experiment_.exhausted(now_s(), problem));
  }

  void tick() {
    if (stopped_ || failure_) return;
    tick_.expires_after(kTickEvery);
    tick_.async_wait([this, self = weak_from_this()](const asio::error_code& ec) {
      const auto alive = self.lock();
      if (!alive || ec || stopped_) return;
      apply(experiment_.tick(now_s()));
      tick();
    });
  }

  void accept() {
    acceptor_.async_accept([self = weak_from_this()](const asio::error_code& ec, tcp::socket s) {
      const auto alive = self.lock();
      if (!alive || alive->stopped_) return;
      if (!ec) alive->on_accepted(std::move(s));
      if (ec == asio::error::operation_aborted) return;
      if (!ec) return alive->accept();
      // No descriptors left: those that end will give some back.
      alive->retry_.expires_after(kTickEvery);
      alive->retry_.async_wait([self](const asio::error_code& cancelled) {
        if (const auto again = self.lock(); again && !cancelled && !again->stopped_)
          again->accept();
      });
    });
  }

  void on_accepted(tcp::socket socket) {
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

  static asio::awaitable<void> read(std::weak_ptr<Impl> self, Peer peer) {
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

  void received(const Peer& peer, std::string_view bytes) {
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
        apply(experiment_.said(now_s(), peer->id, Alive{}));
        continue;
      }
      const auto line = peer->framing.line(peer->who);
      if (!line) return;
      handle(peer, *line);
    }
  }

  void handle(const Peer& peer, const std::string& line) {
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
      const Graph* graph = experiment_.graph(weights->trial);
      if (graph == nullptr) throw Error(ErrorKind::round_failed, "weights of an unknown trial");
      if (weights->bytes > kLeastWeights + kBytesPerWeight * graph->parameters())
        throw Error(ErrorKind::round_failed, "more weights than the model has");
      if (weights->bytes > 0)
        peer->upload.emplace(weights_.receive(weights->trial, weights->bytes));
    }
    apply(experiment_.said(now_s(), peer->id, *message));
  }

  // A result that is no number is the trial's failure, not the worker's.
  bool refuse_result(const Peer& peer, const std::string& line, const std::string& why) {
    const Json json = parse_json_or_null(line);
    if (!json.is_object() || !json.contains("trial") || !json["trial"].is_number_integer())
      return false;
    const std::string type = json.contains("type") && json["type"].is_string() ? json["type"] : "";
    if (type != "epoch" && type != "done") return false;
    apply(experiment_.failed(now_s(), peer->id, json["trial"].get<std::int64_t>(), why));
    return true;
  }

  void greet(const Peer& peer, const Hello& hello) {
    std::string problem;
    if (peer->known) problem = "a second hello";
    if (hello.protocol != kProtocolVersion)
      problem = fmt::format("protocol {} is spoken here, not {}", kProtocolVersion, hello.protocol);
    if (!same(hello.token, token_)) problem = "the token is wrong";
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
    apply(experiment_.joined(now_s(), peer->id, hello));
  }

  void send(const Peer& peer, const CoordinatorMessage& message) {
    try {
      push(peer, encode(message));
    } catch (const Error& error) {
      // A graph that does not fit into a line.
      if (const auto* trial = std::get_if<Trial>(&message))
        asio::post(loop_,
                   [self = weak_from_this(), peer, id = trial->trial, why = error.message()] {
                     if (const auto alive = self.lock())
                       alive->apply(alive->experiment_.failed(alive->now_s(), peer->id, id, why));
                   });
    }
  }

  void push(const Peer& peer, std::variant<std::string, WeightsStore::Download> item) {
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

  static asio::awaitable<void> write(std::weak_ptr<Impl> self, Peer peer) {
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

  void drop(const Peer& peer) {
    if (peer->closed) return;
    peer->closed = true;
    peer->timer.cancel();
    // What has been said and is still on its way (a refusal, a stop) arrives.
    asio::error_code ignored;
    peer->socket.shutdown(tcp::socket::shutdown_send, ignored);
    peer->socket.close(ignored);
    all_.erase(peer->id);
    known_.erase(peer->id);
    wake_.cancel();
  }

  void gone(const Peer& peer, const std::string& reason) {
    if (peer->closed) return;
    const bool known = peer->known;
    drop(peer);
    if (known) apply(experiment_.left(now_s(), peer->id, reason));
  }

  Planner planner_;  // used by the pool alone once it has begun
  std::string token_;
  double base_s_ = 0;
  std::int64_t begun_ns_ = 0;
  asio::steady_timer retry_{loop_};
  std::map<int, Peer> all_;
  std::map<int, Peer> known_;
  std::vector<Experiment::Actions> uncommitted_;  // in the journal, but not yet synced
  bool commit_asked_ = false;
  std::exception_ptr failure_;
  int next_id_ = 1;
  int proposing_ = 0;
  bool started_ = false;
  bool stopped_ = false;
  asio::thread_pool pool_{1};

  friend class Coordinator;
};

Coordinator::Coordinator(asio::io_context& loop, const ExperimentSettings& settings,
                         Options options)
    : impl_(std::make_shared<Impl>(loop, settings, std::move(options))) {
  impl_->start();
}

Coordinator::~Coordinator() {
  impl_->shut();
}

int Coordinator::port() const {
  return impl_->acceptor_.local_endpoint().port();
}
const std::string& Coordinator::token() const {
  return impl_->token_;
}
Experiment::Status Coordinator::status() const {
  return impl_->experiment_.status();
}
double Coordinator::elapsed_s() const {
  return impl_->now_s();
}
bool Coordinator::ended() const {
  return impl_->experiment_.ended();
}
const std::string& Coordinator::end_reason() const {
  return impl_->experiment_.end_reason();
}
const std::string& Coordinator::end_detail() const {
  return impl_->experiment_.end_detail();
}
asio::awaitable<void> Coordinator::run() {
  return impl_->run();
}
void Coordinator::end(const std::string& reason, const std::string& detail) {
  impl_->end(reason, detail);
}

}  // namespace assay::automl
