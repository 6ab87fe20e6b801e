#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "automl/worker_protocol.h"
#include "core/error.h"
#include "core/files.h"

namespace assay::train {

/// The coordinator cannot be reached, is gone, or sent something that is not a message.
class ConnectionError : public Error {
 public:
  using Error::Error;
  /// The connection was cut, perhaps temporarily: the coordinator takes back a lost worker.
  bool was_cut = false;
};

struct ConnectionOptions {
  std::string address;                                          ///< host:port
  std::chrono::milliseconds connect = std::chrono::minutes(1);  ///< for the first connection
  std::chrono::milliseconds alive = std::chrono::seconds(automl::kAliveSeconds);
  /// The coordinator's host counts as gone if it acknowledges nothing for this long.
  std::chrono::milliseconds silence = std::chrono::seconds(30);
  std::function<bool()> give_up{};  ///< checked while trying to connect
};

/// A worker's connection. Its own thread sends queued data and signs of life, and receives, so that
/// neither waits for a training step. All other calls must come from one thread.
class Connection {
 public:
  /// Connects, retrying until options.connect has passed or options.give_up is true, and says
  /// hello. Throws ConnectionError that names the address.
  Connection(const ConnectionOptions& options, const automl::Hello& hello);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// Sends queued data, for up to options.silence, unless the connection is broken.
  ~Connection();

  void send(const automl::WorkerMessage& message);
  /// Announces that this worker is ready for a trial; call it once per trial.
  void ask();
  /// Sends a message followed by raw bytes, made by the connection's thread when it is their turn.
  void send_later(std::function<std::string()> make);

  /// The next trial; nothing if everything must end (stop) or `give_up` returns true. Throws
  /// ConnectionError if the connection is broken or `timeout` passes.
  [[nodiscard]] std::optional<automl::Trial> next_trial(std::chrono::milliseconds timeout,
                                                        const std::function<bool()>& give_up);
  /// The bytes that answer a Fetch of `trial`; empty if there are none, or everything must end.
  /// Throws likewise; the timeout restarts with every byte.
  [[nodiscard]] std::string weights(std::int64_t trial, std::chrono::milliseconds timeout,
                                    const std::function<bool()>& give_up);

  /// Whether the trial was dropped, everything must stop, or the connection is broken.
  [[nodiscard]] bool ended(std::int64_t trial);
  [[nodiscard]] bool stopped();
  [[nodiscard]] bool is_broken();
  /// Reports progress of the trial, which signs of life pass on. Any thread.
  void progressed() noexcept { progress_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void connect(const ConnectionOptions& options);
  void serve();
  void receive();
  void handle(const automl::CoordinatorMessage& message);
  void flush();
  void wake() const;
  void broken(const std::string& what, const std::string& advice = {}, bool was_cut = false);
  void check();  // requires mutex_

  ConnectionOptions options_;
  std::string where_;
  UniqueFd socket_;
  UniqueFd wake_;

  // Used only by the thread.
  automl::Framing framing_;
  std::optional<automl::Weights> receiving_;
  std::string sending_;
  std::size_t sent_ = 0;

  std::atomic<std::int64_t> progress_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<std::string()>> queue_;
  int asked_ = 0;  // trials still to arrive
  std::optional<automl::Trial> trial_;
  std::optional<std::pair<std::int64_t, std::string>> weights_;
  std::int64_t received_bytes_ = 0;
  std::deque<std::int64_t> dropped_;
  bool stop_ = false;
  std::optional<ConnectionError> error_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace assay::train
