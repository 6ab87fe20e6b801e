#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "core/files.h"
#include "core/subprocess.h"
#include "core/time.h"

namespace assay::telemetry {

/// A sampler process: own process group, stdin /dev/null, stdout delivered as it comes, the end of
/// stderr kept. The kernel kills it when this process dies. Nothing here ever blocks.
///
/// The exit status is collected by pid; when somebody else in this process reaps it first, the
/// child is reported as ended with an unknown status.
class Child : public std::enable_shared_from_this<Child> {
 public:
  struct Hooks {
    std::function<void(std::string_view)> on_data;
    /// Once, after the last data. Not called after abandon().
    std::function<void(const ExitStatus&)> on_end;
  };

  /// `argv[0]` is an absolute path. Throws Error of kind environment when no process can be made;
  /// a program that cannot be executed ends with exit 126.
  [[nodiscard]] static std::shared_ptr<Child> start(asio::io_context& loop,
                                                    const std::vector<std::string>& argv,
                                                    Hooks hooks);

  /// SIGTERM to the group. Collects the process even if something keeps its stdout open.
  void terminate() { signal(15); }
  void kill() { signal(9); }
  /// No more callbacks; the group is killed and collected in the background.
  void discard();
  /// discard(), and no further attempt to collect it (it sits in the kernel and cannot die).
  void abandon();

  [[nodiscard]] int pid() const noexcept { return pid_; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  /// The last words on stderr, on one line, printable.
  [[nodiscard]] std::string last_words() const;

  Child(asio::io_context& loop, int pid, UniqueFd out, UniqueFd err, Hooks hooks);

 private:
  void read_out();
  void read_err();
  void signal(int number);
  void collect();
  void close_pipes();

  asio::posix::stream_descriptor out_;
  asio::posix::stream_descriptor err_;
  asio::steady_timer timer_;
  Hooks hooks_;
  int pid_;
  bool ended_ = false;
  bool collecting_ = false;
  Nanoseconds wait_{};
  std::array<char, 16384> out_buffer_;
  std::array<char, 4096> err_buffer_;
  std::string err_tail_;
};

/// Runs a short command to its end, bounded in time and output, without blocking.
class OneShot {
 public:
  struct Result {
    ExitStatus status;
    std::string out;  ///< the first max_output bytes
    std::string err;  ///< the last words
    bool timed_out = false;
  };

  OneShot(asio::io_context& loop, std::size_t max_output);
  ~OneShot() { discard(); }
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  /// Precondition: not running. Throws like Child::start; `done` comes within `timeout`.
  void start(const std::vector<std::string>& argv, Nanoseconds timeout,
             std::function<void(Result)> done);
  [[nodiscard]] bool running() const noexcept { return child_ != nullptr; }
  /// The processes of this and of earlier runs that are not collected yet.
  [[nodiscard]] std::vector<int> pids() const;
  void terminate();
  void discard();
  void abandon();

 private:
  void finish(const ExitStatus& status, bool timed_out);

  asio::io_context& loop_;
  asio::steady_timer timer_;
  std::size_t max_output_;
  std::shared_ptr<Child> child_;
  std::vector<std::shared_ptr<Child>> leaving_;
  std::function<void(Result)> done_;
  std::string out_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace assay::telemetry
