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

/// 0: unlimited.
struct RunLimits {
  Nanoseconds total{};               ///< from start to end
  Nanoseconds silence{};             ///< without a byte on stdout
  std::size_t max_output = 1 << 20;  ///< of stdout: its beginning, unless `on_output` takes it
  std::size_t max_errors = 1 << 20;  ///< of stderr: its end
};

/// A process on an event loop of one thread; stdout and stderr are pipes. Once it runs, nothing
/// blocks. It ends as in run_command: with its program, its process group or session killed.
class AsyncProcess : public std::enable_shared_from_this<AsyncProcess> {
 public:
  struct Hooks {
    /// Takes stdout as it comes; without it, stdout is in the result.
    std::function<void(std::string_view)> on_output{};
    /// Once, after the last output; when a limit has passed at once, though the process may still
    /// have to be collected. Not called after leave().
    std::function<void(CommandResult)> on_end{};
  };

  /// `out` and `err` of the options become pipes; `input` is written to stdin, which is then
  /// closed. `kill_rest`: what the program leaves behind in its group is killed. Throws like
  /// spawn().
  [[nodiscard]] static std::shared_ptr<AsyncProcess> start(const asio::any_io_executor& executor,
                                                           SpawnOptions options,
                                                           const RunLimits& limits, Hooks hooks,
                                                           std::string input = {},
                                                           bool kill_rest = true);

  /// SIGTERM: on_end follows when it obeys.
  void terminate() { signal(15); }
  /// No more callbacks; the group gets the signal, and the process is collected in the background.
  void leave(int signal_number);
  void discard() { leave(9); }
  /// discard(), and no further attempt to collect it: it sits in the kernel and cannot die.
  void abandon();

  [[nodiscard]] pid_t pid() const noexcept { return child_.pid(); }
  /// Whether it was collected or given up.
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
  asio::posix::stream_descriptor end_;  // a pidfd, where the kernel has them
  asio::steady_timer look_;             // polls for its end, where it has not
  asio::steady_timer limit_;
  Nanoseconds pause_{};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point heard_ = started_;
  std::vector<char> buffer_;
  CommandResult result_;
};

}  // namespace assay
