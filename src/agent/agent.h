#pragma once

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include "agent/connectivity.h"
#include "agent/file_offer.h"
#include "agent/metrics_server.h"
#include "agent/protocol.h"
#include "agent/round_supervisor.h"

namespace assay::agent {

/// The supervisor of one node: reads and writes protocol lines and runs at most one round at a
/// time. It stops the round and ends, leaving nothing behind, when its input ends (the controller
/// died, the network broke), when a controller that pings stays silent for as long as it announced
/// (a cut link closes nothing), or when a signal asks for it.
class Agent {
 public:
  /// Takes ownership of both descriptors. `node` is this agent's number in the cluster.
  Agent(asio::io_context& loop, int node, int input_fd, int output_fd);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  /// Completes any removal that was requested.
  ~Agent();

  /// Sends hello and serves until the input ends; the loop then runs out of work. See make_hello()
  /// for `component`.
  void start(const std::string& component = {});

  /// Whether a request is still being handled on a thread that nothing can end.
  [[nodiscard]] bool busy() const noexcept { return busy_; }

 private:
  void wait_for_input();
  void wait_for_signals();
  void watch_controller(Nanoseconds limit);
  void receive(const Json& message);
  void handle(Request request);
  void begin_round(RoundRequest request);
  void pass_on(const Relay& relay);
  void answer_later(std::function<Report()> work);
  void forget(const ForgetRequest& request);
  void go_on();
  void fetch(FetchFileRequest request);
  void withdraw(const std::filesystem::path& file);
  void offer_metrics(const std::string& endpoint);
  [[nodiscard]] std::string metrics_page() const;
  void listen(int port);
  void end_soon(const std::string& why);
  void finish();
  void close_output();
  void send(const Report& report);
  void flush();

  asio::io_context& loop_;
  int node_;
  asio::posix::stream_descriptor input_;
  asio::posix::stream_descriptor output_;
  asio::signal_set signals_;
  asio::steady_timer last_messages_;
  asio::steady_timer silence_;
  std::int64_t heard_ns_ = 0;  // when the controller last sent something
  Encoder encoder_;
  Decoder decoder_;
  std::array<char, 65536> buffer_{};
  std::deque<std::string> outbox_;
  std::size_t outbox_bytes_ = 0;
  std::deque<Request> waiting_;  // until an earlier request is answered
  bool busy_ = false;            // such an answer is in progress
  bool forgetting_ = false;      // a folder is being removed, which can take a while
  bool writing_ = false;
  bool output_gone_ = false;
  bool ending_ = false;    // accepts no new round; the running one is being stopped
  bool finished_ = false;  // only the outbox is left to write
  std::unique_ptr<RoundSupervisor> round_;
  std::string host_;
  std::optional<RoundMetrics> last_round_;  // without telemetry, which belongs to its time
  MetricsServer metrics_;
  // Hashes of programs seen in earlier rounds; used by the thread of answer_later, one at a time.
  std::shared_ptr<probe::FileHashes> hashes_ = std::make_shared<probe::FileHashes>();
  FileOffer offer_;
  std::jthread forgets_;
  Listening listening_;  // for the other nodes' connections during the cluster check
};

}  // namespace assay::agent
