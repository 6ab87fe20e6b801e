#include "agent/agent.h"

#include <optional>
#include <utility>
#include <variant>

#include <asio/post.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/device_idle.h"
#include "agent/device_states.h"
#include "agent/file_fetch.h"
#include "agent/guardian.h"
#include "agent/identity.h"
#include "agent/node_files.h"
#include "agent/node_metrics.h"
#include "agent/page_caches.h"
#include "agent/round_cgroup.h"
#include "agent/self_usage.h"
#include "core/error.h"
#include "core/json_error.h"
#include "core/overloaded.h"
#include "core/process.h"
#include "core/time.h"
#include "core/version.h"
#include "probe/check.h"
#include "probe/device_query.h"
#include "probe/listing.h"
#include "probe/system_info.h"

namespace assay::agent {

namespace {

// Nothing may be alive five seconds after the controller has died.
constexpr Nanoseconds kGraceWithoutController = std::chrono::seconds(2);
// Beyond this, heartbeats to a controller that does not read are dropped; facts never are.
constexpr std::size_t kOutboxForHeartbeats = 1 << 20;
// Messages for onlookers only are dropped earlier, so that facts do not wait behind them.
constexpr std::size_t kOutboxForOutput = 128 << 10;
constexpr Nanoseconds kDeviceQueryLimit = std::chrono::seconds(5);
// The driver starts devices that are not kept awake one at a time.
constexpr Nanoseconds kDeviceStateLimit = std::chrono::seconds(10);
constexpr Nanoseconds kSampleLimit = std::chrono::seconds(4);
constexpr auto kLastMessagesLimit = std::chrono::seconds(2);

}  // namespace

Agent::Agent(asio::io_context& loop, int node, int input_fd, int output_fd)
    : loop_(loop),
      node_(node),
      input_(loop, input_fd),
      output_(loop, output_fd),
      signals_(loop, SIGCHLD, SIGTERM, SIGINT),
      last_messages_(loop),
      silence_(loop),
      decoder_([this](int to, const Json& message) {
        if (to == node_ || to == kAllNodes) receive(message);
      }),
      metrics_(loop, [this] { return metrics_page(); }),
      offer_(loop) {
  signals_.add(SIGHUP);
  signals_.add(guardian_gone_signal());
  // A process that a rank leaves behind must not hold the controller's connection open.
  for (const int fd : {input_fd, output_fd}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::signal(SIGPIPE, SIG_IGN);
  // A file over the user's limit (ulimit -f) should fail to be written, not end the agent.
  ::signal(SIGXFSZ, SIG_IGN);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  raise_open_file_limit();
}

void Agent::start(const std::string& component) {
  const Hello hello = make_hello(component);
  host_ = hello.host;
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
    // A signal that was already queued cannot be cancelled; waiting again would never end.
    if (ec || finished_) return;
    if (signal == SIGCHLD) {
      if (round_) round_->children_changed();
    } else if (signal == guardian_gone_signal()) {
      // Somebody killed the other half of the agent, and this one is left.
      kill_descendants();
      ::_exit(128 + SIGKILL);
    } else {
      end_soon("asked to end by a signal");
    }
    if (!finished_) wait_for_signals();
  });
}

void Agent::receive(const Json& message) {
  try {
    handle(request_from_json(message));
  } catch (const Error& error) {
    send(Refusal{error.message()});
  }
}

void Agent::handle(Request request) {
  // A controller's ping, stop or bye is handled at once; anything else waits its turn.
  const bool urgent = std::holds_alternative<Ping>(request) ||
                      std::holds_alternative<Bye>(request) ||
                      std::holds_alternative<StopRequest>(request);
  if ((busy_ || forgetting_) && !urgent) return waiting_.push_back(std::move(request));
  std::visit(Overloaded{[this](RoundRequest& round) { begin_round(std::move(round)); },
                        [this](const StopRequest& stop) {
                          if (round_) round_->stop(stop.cause, stop.grace);
                        },
                        [this](const DescribeRequest& describe) {
                          answer_later([describe]() -> Report {
                            Json system = probe::system_info("/");
                            const std::string problem = cgroup_place().problem;
                            system["round_cgroup"]["available"] = problem.empty();
                            if (!problem.empty()) system["round_cgroup"]["why"] = problem;
                            if (!describe.device_query.is_null())
                              system["devices"] = probe::list_devices(
                                  probe::device_query_from_json(describe.device_query),
                                  kDeviceQueryLimit);
                            if (!describe.device_state.empty())
                              system["device_state"] = fields_to_json(
                                  read_device_states(describe.device_state, kDeviceStateLimit));
                            return SystemReport{std::move(system)};
                          });
                        },
                        [this](ProbeRequest& probe) {
                          answer_later([probe = std::move(probe)]() -> Report {
                            Checks answer{probe::check_machine(probe.options)};
                            if (probe.sources)
                              answer.checks.push_back(check_idle(*probe.sources, kSampleLimit));
                            if (probe.device_state)
                              for (probe::Check& check : probe::check_device_states(
                                       read_device_states(*probe.device_state, kDeviceStateLimit)))
                                answer.checks.push_back(std::move(check));
                            return answer;
                          });
                        },
                        [this](const ClockRequest&) { send(ClockReading{wall_now_ns()}); },
                        [this](const ListDataRequest& list) {
                          answer_later([paths = list.paths]() -> Report {
                            DataListings answer;
                            for (const std::string& path : paths)
                              answer.listings.push_back(probe::list_data(path));
                            return answer;
                          });
                        },
                        [this](const ListenRequest& wanted) { listen(wanted.port); },
                        [this](const ConnectRequest& connect) {
                          answer_later([connect]() -> Report {
                            return Connections{connect_to(connect.peers, connect.limit)};
                          });
                        },
                        [this](const IdentifyRequest& identify) {
                          answer_later([hashes = hashes_, query = identify.query]() -> Report {
                            return Executions{probe::identify(query, *hashes)};
                          });
                        },
                        [this](const DropCachesRequest&) {
                          answer_later([]() -> Report {
                            const CacheDrop drop = drop_page_caches();
                            return CachesDropped{drop.done, drop.how};
                          });
                        },
                        [this](const FreePortRequest&) { send(FreePort{free_port()}); },
                        [this](const ForgetRequest& wanted) { forget(wanted); },
                        [this](const OfferFileRequest& wanted) { send(offer_.offer(wanted)); },
                        [this](FetchFileRequest& wanted) { fetch(std::move(wanted)); },
                        [this](const WithdrawFileRequest& wanted) { withdraw(wanted.path); },
                        [this](const Relay& relay) { pass_on(relay); },
                        [this](const Ping& ping) { watch_controller(ping.silence); },
                        [this](const Bye&) { end_soon("the controller sent bye"); }},
             request);
}

void Agent::answer_later(std::function<Report()> work) {
  busy_ = true;
  std::thread([this, work = std::move(work)] {
    Report report;
    try {
      report = work();
    } catch (const std::exception& error) {
      report = Refusal{plain_error(error)};
    }
    asio::post(loop_, [this, report = std::move(report)] {
      busy_ = false;
      send(report);
      go_on();
    });
  }).detach();
}

void Agent::go_on() {
  while (!busy_ && !forgetting_ && !waiting_.empty()) {
    Request next = std::move(waiting_.front());
    waiting_.pop_front();
    handle(std::move(next));
  }
}

// May take long (thousands of files on a slow disk) while the controller's pings need answers.
void Agent::forget(const ForgetRequest& request) {
  forgetting_ = true;
  forgets_ = std::jthread([this, directory = request.directory] {
    std::optional<Refusal> problem;
    try {
      forget_node_files(directory);
    } catch (const std::exception& error) {
      problem = Refusal{plain_error(error)};
    }
    asio::post(loop_, [this, problem = std::move(problem)] {
      forgetting_ = false;
      if (problem) send(*problem);
      go_on();
    });
  });
}

Agent::~Agent() {
  if (forgets_.joinable()) forgets_.join();
  for (const Request& request : waiting_)
    if (const auto* wanted = std::get_if<ForgetRequest>(&request)) try {
        forget_node_files(wanted->directory);
      } catch (const std::exception&) {  // The next round on the node, or the next run, removes it.
      }
}

void Agent::fetch(FetchFileRequest request) {
  answer_later([this, request = std::move(request)]() -> Report {
    return fetch_file(request, [this](std::uint64_t have) {
      asio::post(loop_, [this, have] { send(FetchProgress{have}); });
    });
  });
}

void Agent::withdraw(const std::filesystem::path& file) {
  offer_.close();
  std::error_code ignored;
  if (file.extension() == ".part") std::filesystem::remove(file, ignored);
}

void Agent::watch_controller(Nanoseconds limit) {
  if (limit.count() <= 0 || ending_) return;
  silence_.expires_after(limit);
  silence_.async_wait([this, limit](const asio::error_code& ec) {
    if (ec || ending_) return;
    // Input that came while this process was busy or stopped is not read yet.
    pollfd input{input_.native_handle(), POLLIN, 0};
    const bool waiting = ::poll(&input, 1, 0) > 0;
    if (waiting || mono_now_ns() - heard_ns_ < limit.count()) return watch_controller(limit);
    end_soon("the controller fell silent");
  });
}

void Agent::begin_round(RoundRequest request) {
  if (ending_) return;
  if (round_) return send(Refusal{"a round is already running"});
  offer_metrics(request.metrics);
  round_ = std::make_unique<RoundSupervisor>(
      loop_, node_, std::move(request), [this](const Report& report) { send(report); },
      [this] {
        // Posted, because this must not run inside the supervisor's own call.
        asio::post(loop_, [this] {
          last_round_ = round_->metrics();
          round_.reset();
          if (ending_) finish();
        });
      });
  round_->start();
}

void Agent::pass_on(const Relay& relay) {
  if (round_ && round_->id() == relay.id && round_->relay(relay)) return;
  // The caller is told; the program that was called has nobody left to tell.
  if (!relay.back) send(answer_of_nobody(relay));
}

// Metrics only serve onlookers: a round is just as good without them.
void Agent::offer_metrics(const std::string& endpoint) {
  if (endpoint.empty()) return metrics_.close();
  const std::string problem = metrics_.listen(endpoint);
  if (problem.empty()) return;
  send(Gap{"prometheus", 0, problem, now()});
}

std::string Agent::metrics_page() const {
  AgentMetrics metrics;
  metrics.host = host_;
  metrics.version = version_string();
  metrics.cpu_s = self_cpu_s();
  metrics.resident_bytes = resident_bytes();
  metrics.requests = metrics_.requests();
  metrics.evicted = metrics_.evicted();
  metrics.round = round_ ? std::optional(round_->metrics()) : last_round_;
  return render_metrics(metrics);
}

void Agent::listen(int port) {
  listening_ = {};  // frees the port, which may be asked for again
  listening_ = listen_on(port);
  send(ListeningOn{listening_.port, listening_.problem});
}

void Agent::end_soon(const std::string& why) {
  if (ending_) return;
  ending_ = true;
  silence_.cancel();
  asio::error_code ignored;
  input_.close(ignored);
  if (!round_) return finish();
  round_->note("the agent ends: " + why);
  round_->stop(EndedBy::stop, kGraceWithoutController);
}

void Agent::finish() {
  finished_ = true;
  signals_.cancel();
  metrics_.close();
  offer_.close();
  if (!writing_) return close_output();
  // A controller that is stopped but not dead would keep the last messages waiting forever.
  last_messages_.expires_after(kLastMessagesLimit);
  last_messages_.async_wait([this](const asio::error_code& ec) {
    if (!ec) loop_.stop();
  });
}

void Agent::close_output() {
  last_messages_.cancel();
  output_.close();
  loop_.stop();  // does not wait for a command that cannot be killed
}

void Agent::send(const Report& report) {
  if (output_gone_) return;
  if (outbox_bytes_ > kOutboxForHeartbeats && std::holds_alternative<Heartbeat>(report)) return;
  if (outbox_bytes_ > kOutboxForOutput && std::holds_alternative<Output>(report)) return;
  outbox_.push_back(encoder_.encode(node_, to_json(report)));
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
                        last_messages_.cancel();
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
