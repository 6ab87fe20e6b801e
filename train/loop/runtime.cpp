#include "train/loop/runtime.h"

#include <cstdio>
#include <cstdlib>

#include <signal.h>

namespace assay::train {
namespace {

volatile sig_atomic_t g_stop_signal = 0;

void on_stop(int signal) {
  g_stop_signal = signal;
}

}  // namespace

void handle_stop_signals() {
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

int stop_signal() noexcept {
  return g_stop_signal;
}

int exit_code(const perflog::Writer& writer) noexcept {
  if (writer.failed() > 0) {
    std::fprintf(stderr, "assay-train: %llu log lines could not be written\n",
                 static_cast<unsigned long long>(writer.failed()));
    return 1;
  }
  return stop_signal() == 0 ? 0 : 128 + stop_signal();
}

int exit_code(const Error& error) noexcept {
  // All ranks were told to stop, and another one was a step ahead.
  if (error.kind() == ErrorKind::round_failed && stop_signal() != 0) return 128 + stop_signal();
  return assay::exit_code(error.kind());
}

void end_with(const Error& error) {
  std::fprintf(stderr, "assay-train: %s\n", error.what());
  std::fflush(stderr);
  std::_Exit(exit_code(error));
}

}  // namespace assay::train
