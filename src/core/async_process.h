#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "core/subprocess.h"

namespace assay {

/// 0 means unlimited.
struct RunLimits {
  Nanoseconds total{};               ///< from start to end
  Nanoseconds silence{};             ///< without a byte on stdout
  std::size_t max_output = 1 << 20;  ///< stdout: its beginning is kept, unless `on_output` takes it
  std::size_t max_errors = 1 << 20;  ///< stderr: its end is kept
};

/// A process on a single-threaded event loop; stdout and stderr are pipes. Nothing blocks once it
/// runs. It ends as in run_command: with its program, when its process group or session is killed.
class AsyncProcess : public std::enable_shared_from_this<AsyncProcess> {
 public:
  struct Hooks {
    /// Receives stdout as it comes; without this hook stdout is in the result.
    std::function<void(std::string_view)> on_output{};
    /// Called once, after the last output; when a limit has passed, called at once, though the
    /// process may not be collected yet. Never called after leave().
    std::function<void(CommandResult)> on_end{};
  };

  /// The `out` and `err` options become pipes; `input` is written to stdin, which is then closed.
  /// With `kill_rest`, whatever the program leaves behind in its group is killed. Throws like
  /// spawn().
  [[nodiscard]] static std::shared_ptr<AsyncProcess> start(const asio::any_io_executor& executor,
                                                           SpawnOptions options,
                                                           const RunLimits& limits, Hooks hooks,
                                                           std::string input = {},
                                                           bool kill_rest = true);

  /// Sends SIGTERM; on_end follows when the process obeys.
  void terminate() { signal(15); }
  /// Stops all callbacks, signals the group and collects the process in the background.
  void leave(int signal_number);
  void discard() { leave(9); }
  /// Like discard(), but stops trying to collect it: the process sits in the kernel and cannot die.
  void abandon();

  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
  /// Whether the process was collected or given up.
  [[nodiscard]] bool ended() const noexcept { return !child_.running(); }

  AsyncProcess(const asio::any_io_executor& executor, Child child, const RunLimits& limits,
               Hooks hooks, std::string input, bool kill_rest);

 private:
  void write_input();
  void read(asio::posix::stream_descriptor& stream);
  asio::error_code take(asio::posix::stream_descriptor& stream);
  void watch_end();
  void watch_limits();
  void signal(int number);
  void collect();
  void finish(const ExitStatus& status);
  void close_pipes();

  Child child_;
  RunLimits limits_;
  Hooks hooks_;
  std::string input_;
  bool kill_rest_;
  asio::posix::stream_descriptor in_;
  asio::posix::stream_descriptor out_;
  asio::posix::stream_descriptor err_;
  asio::posix::stream_descriptor end_;  // a pidfd, where the kernel supports them
  asio::steady_timer look_;             // polls for the end, where it does not
  asio::steady_timer limit_;
  Nanoseconds pause_{};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point heard_ = started_;
  std::vector<char> buffer_;
  CommandResult result_;
};

}  // namespace assay
