#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace assay::commands {

/// While it exists, Ctrl-C and SIGTERM request a stop through its token instead of ending the
/// program, so that the work in progress can end where it can be resumed.
class Interrupt {
 public:
  Interrupt() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    watcher_ = std::jthread([this](const std::stop_token& done) {
      const timespec tick{0, 100'000'000};
      while (!done.stop_requested())
        if (::sigtimedwait(&signals_, nullptr, &tick) > 0) stop_.request_stop();
    });
  }
  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

 private:
  sigset_t signals_{};
  std::stop_source stop_;
  std::jthread watcher_;
};

}  // namespace assay::commands
