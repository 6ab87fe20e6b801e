#include "workload/runtime.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "core/time.h"

namespace assay::workload {
namespace {

std::atomic<int> g_stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // also set by a handler

std::atomic<bool> g_second_ends = false;
std::atomic<std::int64_t> g_first_ns = 0;  // when the first signal came
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// A request may come as several signals: timeout(1) signals its child and then the child's group,
// a terminal signals all, and the launcher among them passes it on.
constexpr std::int64_t kOneRequestNs = 1'000'000'000;

void on_stop(int signal) {
  const std::int64_t now = mono_now_ns();
  std::int64_t first = 0;
  if (!g_first_ns.compare_exchange_strong(first, now) && g_second_ends &&
      now - first >= kOneRequestNs)
    ::_exit(128 + signal);
  g_stop_signal = signal;
}

/// Wakes sleeping threads. Never destroyed, because the signal thread outlives main().
struct Sleepers {
  std::mutex mutex;
  std::condition_variable woken;
};

Sleepers& sleepers() {
  static Sleepers* const all = new Sleepers;
  return *all;
}

[[noreturn]] void wait_for_stop(sigset_t signals) {
  while (true) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    Sleepers& all = sleepers();
    {
      const std::lock_guard lock(all.mutex);
      on_stop(signal);
    }
    all.woken.notify_all();
  }
}

}  // namespace

void handle_stop_signals() {
  // For earlier threads, and for all if no signal thread can be created.
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);

  // oneDNN's products move their stack pointer while computing, so a handler's frame would be
  // written into the heap. Computing threads therefore take no signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  try {
    std::thread(wait_for_stop, signals).detach();
  } catch (const std::system_error&) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
}

void end_at_second_stop_signal() noexcept {
  g_second_ends = true;
}

void ask_to_stop(int signal) noexcept {
  Sleepers& all = sleepers();
  {
    const std::lock_guard lock(all.mutex);
    int none = 0;
    g_stop_signal.compare_exchange_strong(none, signal);
  }
  all.woken.notify_all();
}

int stop_signal() noexcept {
  return g_stop_signal;
}

void sleep_until(std::int64_t mono_ns) noexcept {
  const std::chrono::steady_clock::time_point deadline{std::chrono::nanoseconds(mono_ns)};
  Sleepers& all = sleepers();
  std::unique_lock lock(all.mutex);
  all.woken.wait_until(lock, deadline, [] { return stop_signal() != 0; });
}

int exit_code(const perflog::Writer& writer) noexcept {
  if (writer.failed() > 0) {
    std::fprintf(stderr, "%s: %llu log lines could not be written\n", program_invocation_short_name,
                 static_cast<unsigned long long>(writer.failed()));
    return 1;
  }
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

int exit_code(const Error& error) noexcept {
  // All ranks were asked to stop, and another one was a step ahead.
  if (error.kind() == ErrorKind::round_failed && stop_signal() != 0) return 128 + stop_signal();
  return assay::exit_code(error.kind());
}

int report(const Error& error) noexcept {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, error.what());
  return exit_code(error);
}

void end_with(const Error& error) {
  const int code = report(error);
  std::fflush(stderr);
  std::_Exit(code);
}

}  // namespace assay::workload
