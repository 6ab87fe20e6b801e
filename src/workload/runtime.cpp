#include "workload/runtime.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <signal.h>
#include <time.h>

namespace assay::workload {
namespace {

volatile sig_atomic_t g_stop_signal = 0;

void on_stop(int signal) {
  g_stop_signal = signal;
}

}  // namespace

void handle_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;  // a sleep ends nevertheless
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

int stop_signal() noexcept {
  return g_stop_signal;
}

void sleep_until(std::int64_t mono_ns) noexcept {
  const timespec deadline{mono_ns / 1'000'000'000, mono_ns % 1'000'000'000};
  while (stop_signal() == 0 &&
         ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, nullptr) == EINTR) {
  }
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
