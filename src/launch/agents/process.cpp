#include "launch/agents/process.h"

#include <array>
#include <exception>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "core/text.h"
#include "launch/agents/spawn.h"

namespace assay::launch {

namespace {

constexpr std::size_t kProcessErrorTail = 2000;
constexpr auto kReapEvery = std::chrono::milliseconds(2);
constexpr int kReapTries = 500;
// What one turn reads. A user may have 64 MB of pipes, and there may be hundreds of hosts.
constexpr std::size_t kPipeSize = std::size_t{256} << 10;

/// The child and its pipes; nothing of it outlives this.
struct Running {
  Running(const asio::any_io_executor& executor, Child child)
      : pid(child.pid),
        input(executor, child.input.release()),
        output(executor, child.output.release()),
        errors(executor, child.errors.release()),
        watchdog(executor) {
    // ssh keeps what nobody takes in a buffer that it copies whenever it grows. Best effort.
    ::fcntl(output.native_handle(), F_SETPIPE_SZ, static_cast<int>(kPipeSize));
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    if (pid <= 0) return;
    ::kill(-pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  pid_t pid;
  asio::posix::stream_descriptor input;
  asio::posix::stream_descriptor output;
  asio::posix::stream_descriptor errors;
  asio::steady_timer watchdog;
  std::string error_tail;
  std::exception_ptr failure;
  ExitStatus status;
  bool timed_out = false;
  bool done = false;
  std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();

  void give_up() {
    asio::error_code ignored;
    input.close(ignored);
    output.close(ignored);
    errors.close(ignored);
    if (pid > 0) ::kill(-pid, SIGKILL);
  }

  asio::awaitable<void> write(const std::string& text) {
    asio::error_code ec;
    co_await asio::async_write(input, asio::buffer(text),
                               asio::redirect_error(asio::use_awaitable, ec));
    input.close(ec);
  }

  asio::awaitable<void> read(const std::function<void(std::string_view)>& consume) {
    std::vector<char> buffer(kPipeSize);
    for (;;) {
      asio::error_code ec;
      const std::size_t n = co_await output.async_read_some(
          asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
      if (ec) break;
      heard = std::chrono::steady_clock::now();
      try {
        consume({buffer.data(), n});
      } catch (...) {
        failure = std::current_exception();
        give_up();
        break;
      }
    }
    co_await reap();
    // A connection that ssh keeps for later may hold stderr open.
    asio::error_code ignored;
    errors.close(ignored);
    done = true;
    watchdog.cancel();
  }

  asio::awaitable<void> reap() {
    for (int i = 0; i < kReapTries && pid > 0; ++i) {
      int word = 0;
      if (::waitpid(pid, &word, WNOHANG) == pid) {
        pid = -1;
        status = ExitStatus::from_wait(word);
        co_return;
      }
      asio::steady_timer timer(output.get_executor(), kReapEvery);
      asio::error_code ec;
      co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
  }

  asio::awaitable<void> read_errors() {
    std::array<char, 4096> buffer{};
    for (;;) {
      asio::error_code ec;
      const std::size_t n = co_await errors.async_read_some(
          asio::buffer(buffer), asio::redirect_error(asio::use_awaitable, ec));
      if (ec) co_return;
      error_tail.append(buffer.data(), n);
      if (error_tail.size() > kProcessErrorTail)
        error_tail.erase(0, error_tail.size() - kProcessErrorTail);
    }
  }

  asio::awaitable<void> watch(Nanoseconds silence) {
    while (!done) {
      const auto deadline = heard + silence;
      if (std::chrono::steady_clock::now() >= deadline) {
        timed_out = true;
        give_up();
        co_return;
      }
      watchdog.expires_at(deadline);
      asio::error_code ec;
      co_await watchdog.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
  }
};

}  // namespace

asio::awaitable<ProcessResult> run_process(std::vector<std::string> argv, std::string label,
                                           std::string input,
                                           std::function<void(std::string_view)> output,
                                           Nanoseconds silence) {
  using namespace asio::experimental::awaitable_operators;
  const auto executor = co_await asio::this_coro::executor;
  Running process(executor, spawn_child(argv, label));
  co_await (process.write(input) && process.read(output) && process.read_errors() &&
            process.watch(silence));
  if (process.failure) std::rethrow_exception(process.failure);
  co_return ProcessResult{process.status, process.timed_out, printable(trim(process.error_tail))};
}

}  // namespace assay::launch
