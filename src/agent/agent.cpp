#include "agent/agent.h"

#include <asio/post.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/device_idle.h"
#include "agent/identity.h"
#include "agent/metrics.h"
#include "agent/node_files.h"
#include "agent/own_use.h"
#include "agent/page_caches.h"
#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "core/version.h"
#include "probe/check.h"
#include "probe/devices.h"
#include "probe/listing.h"
#include "probe/system_info.h"

namespace assay::agent {

namespace {

// A controller that died must leave nothing alive five seconds later.
constexpr Nanoseconds kGraceWithoutController = std::chrono::seconds(2);
// A controller that does not read: heartbeats are dropped beyond this, never facts.
constexpr std::size_t kOutboxForHeartbeats = 1 << 20;
constexpr Nanoseconds kDeviceQueryLimit = std::chrono::seconds(5);
constexpr Nanoseconds kSampleLimit = std::chrono::seconds(4);
constexpr auto kLastWords = std::chrono::seconds(2);

}  // namespace

Agent::Agent(asio::io_context& loop, int node, int input_fd, int output_fd)
    : loop_(loop),
      node_(node),
      input_(loop, input_fd),
      output_(loop, output_fd),
      signals_(loop, SIGCHLD, SIGTERM, SIGINT),
      last_words_(loop),
      silence_(loop),
      decoder_([this](int to, const Json& message) {
        if (to == node_ || to == kAllNodes) handle(message);
      }),
      metrics_(loop, [this] { return metrics_page(); }) {
  signals_.add(SIGHUP);
  // A process that a rank leaves behind must not keep the controller's connection open.
  for (const int fd : {input_fd, output_fd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  raise_open_file_limit();
}

void Agent::start() {
  Json hello = identity();
  host_ = hello.value("host", "");
  hello["type"] = "hello";
  hello["protocol"] = kProtocolVersion;
  hello["version"] = version_string();
  hello["pid"] = ::getpid();
  send(hello);
  wait_for_input();
  wait_for_signals();
}

void Agent::wait_for_input() {
  input_.async_read_some(asio::buffer(buffer_), [this](const asio::error_code& ec, std::size_t n) {
    if (ec) return end_soon("the controller is gone");
    heard_ns_ = mono_now_ns();
    decoder_.feed({buffer_.data(), n});
    if (!ending_) wait_for_input();
  });
}

void Agent::wait_for_signals() {
  signals_.async_wait([this](const asio::error_code& ec, int signal) {
    // A signal that was already queued is not cancelled any more; waiting anew would never end.
    if (ec || finished_) return;
    if (signal == SIGCHLD) {
      if (round_) round_->children_changed();
    } else {
      end_soon("asked to end by a signal");
    }
    if (!finished_) wait_for_signals();
  });
}

void Agent::handle(const Json& message) {
  const std::string& type = message["type"].get_ref<const std::string&>();
  if (type == "round") {
    begin_round(message);
  } else if (type == "stop") {
    const Nanoseconds grace(message.value("grace_ns", std::int64_t{0}));
    const std::string cause = message.value("cause", "stop");
    if (round_)
      round_->stop(cause == "stall"        ? StopCause::stall
                   : cause == "time limit" ? StopCause::time_limit
                                           : StopCause::stop,
                   grace);
  } else if (type == "describe") {
    describe(message);
  } else if (type == "forget") {
    forget(message);
  } else if (type == "free_port") {
    send({{"type", "port"}, {"port", free_port()}});
  } else if (type == "probe") {
    probe(message);
  } else if (type == "clock") {
    send({{"type", "clock"}, {"wall_ns", wall_now_ns()}});
  } else if (type == "list_data") {
    list_data(message);
  } else if (type == "listen") {
    listen(message);
  } else if (type == "connect") {
    connect(message);
  } else if (type == "drop_caches") {
    drop_caches();
  } else if (type == "ping") {
    watch_controller(Nanoseconds(message.value("silence_ns", std::int64_t{0})));
  } else if (type == "bye") {
    end_soon("the controller said bye");
  } else {
    send({{"type", "error"}, {"reason", "unknown request '" + type + "'"}});
  }
}

void Agent::watch_controller(Nanoseconds limit) {
  if (limit.count() <= 0 || ending_) return;
  silence_.expires_after(limit);
  silence_.async_wait([this, limit](const asio::error_code& ec) {
    if (ec || ending_) return;
    // What came while this process was busy or stopped has not been read yet.
    pollfd input{input_.native_handle(), POLLIN, 0};
    const bool waiting = ::poll(&input, 1, 0) > 0;
    if (waiting || mono_now_ns() - heard_ns_ < limit.count()) return watch_controller(limit);
    end_soon("the controller fell silent");
  });
}

void Agent::begin_round(const Json& message) {
  if (ending_) return;
  if (round_) return send({{"type", "error"}, {"reason", "a round is already running"}});
  try {
    RoundRequest request = round_request_from_json(message);
    offer_metrics(request.metrics);
    round_ = std::make_unique<RoundSupervisor>(
        loop_, std::move(request), [this](const Json& m) { send(m); },
        [this] {
          // Not from inside the supervisor's own call.
          asio::post(loop_, [this] {
            last_round_ = round_->metrics();
            round_.reset();
            if (ending_) finish();
          });
        });
  } catch (const Error& error) {
    return send({{"type", "error"}, {"reason", error.message()}});
  }
  round_->start();
}

// Metrics are a service to onlookers: without them the round is as good.
void Agent::offer_metrics(const std::string& endpoint) {
  if (endpoint.empty()) return metrics_.close();
  const std::string problem = metrics_.listen(endpoint);
  if (problem.empty()) return;
  const Instant at = now();
  send({{"type", "gap"},
        {"source", "prometheus"},
        {"seconds", 0},
        {"reason", problem},
        {"mono_ns", at.mono_ns},
        {"wall_ns", at.wall_ns}});
}

std::string Agent::metrics_page() const {
  AgentMetrics metrics;
  metrics.host = host_;
  metrics.version = version_string();
  metrics.cpu_s = own_cpu_s();
  metrics.resident_bytes = own_memory_bytes("VmRSS:");
  metrics.requests = metrics_.requests();
  metrics.evicted = metrics_.evicted();
  metrics.round = round_ ? std::optional(round_->metrics()) : last_round_;
  return render_metrics(metrics);
}

void Agent::describe(const Json& message) {
  Json system = probe::system_info("/");
  if (message.contains("device_query"))
    system["devices"] = probe::list_devices(probe::device_query_from_json(message["device_query"]),
                                            kDeviceQueryLimit);
  send({{"type", "system"}, {"system", std::move(system)}});
}

void Agent::forget(const Json& message) {
  try {
    forget_node_files(message.value("directory", ""));
  } catch (const Error& error) {
    send({{"type", "error"}, {"reason", error.what()}});
  }
}

void Agent::probe(const Json& message) {
  try {
    const std::vector<probe::Check> checks = probe::check_machine(check_options_from_json(message));
    Json list = Json::array();
    for (const probe::Check& check : checks) list.push_back(probe::to_json(check));
    if (message.contains("sources")) {
      std::vector<telemetry::DeviceSource> sources;
      for (const Json& source : message["sources"])
        sources.push_back(telemetry::device_source_from_json(source, "probe request"));
      list.push_back(probe::to_json(check_idle(sources, kSampleLimit)));
    }
    send({{"type", "checks"}, {"checks", std::move(list)}});
  } catch (const Error& error) {
    send({{"type", "error"}, {"reason", error.message()}});
  }
}

void Agent::list_data(const Json& message) {
  Json listings = Json::array();
  if (const auto paths = message.find("paths"); paths != message.end() && paths->is_array())
    for (const Json& path : *paths)
      if (path.is_string())
        listings.push_back(probe::to_json(probe::list_data(path.get<std::string>())));
  send({{"type", "data"}, {"listings", std::move(listings)}});
}

void Agent::listen(const Json& message) {
  listening_ = {};  // a port that is asked for again must be free
  listening_ = listen_on(message.value("port", 0));
  send({{"type", "listening"}, {"port", listening_.port}, {"problem", listening_.problem}});
}

void Agent::connect(const Json& message) {
  const std::vector<Peer> peers = peers_from_json(message.value("peers", Json::array()));
  const Nanoseconds limit(message.value("limit_ns", std::int64_t{0}));
  send({{"type", "connected"}, {"results", to_json(connect_to(peers, limit))}});
}

void Agent::drop_caches() {
  const CacheDrop drop = drop_page_caches();
  send({{"type", "caches"}, {"done", drop.done}, {"how", drop.how}});
}

void Agent::end_soon(const std::string& /*why*/) {
  if (ending_) return;
  ending_ = true;
  silence_.cancel();
  asio::error_code ignored;
  input_.close(ignored);
  if (round_)
    round_->stop(StopCause::stop, kGraceWithoutController);
  else
    finish();
}

void Agent::finish() {
  finished_ = true;
  signals_.cancel();
  metrics_.close();
  if (!writing_) return close_output();
  // A controller that is stopped, not dead, would let the last words wait for ever.
  last_words_.expires_after(kLastWords);
  last_words_.async_wait([this](const asio::error_code& ec) {
    if (!ec) loop_.stop();
  });
}

void Agent::close_output() {
  last_words_.cancel();
  output_.close();
}

void Agent::send(const Json& message) {
  if (output_gone_) return;
  if (outbox_bytes_ > kOutboxForHeartbeats && message["type"] == "heartbeat") return;
  outbox_.push_back(encoder_.encode(node_, message));
  outbox_bytes_ += outbox_.back().size();
  if (!writing_) flush();
}

void Agent::flush() {
  writing_ = true;
  asio::async_write(output_, asio::buffer(outbox_.front()),
                    [this](const asio::error_code& ec, std::size_t) {
                      writing_ = false;
                      if (ec) {
                        output_gone_ = true;
                        outbox_.clear();
                        last_words_.cancel();
                        return end_soon("the controller does not listen");
                      }
                      outbox_bytes_ -= outbox_.front().size();
                      outbox_.pop_front();
                      if (!outbox_.empty())
                        flush();
                      else if (finished_)
                        close_output();
                    });
}

}  // namespace assay::agent
