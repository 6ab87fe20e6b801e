#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace assay::commands {

/// As long as it exists, Ctrl-C and SIGTERM do not end the program but ask its token to stop, so
/// that what is under way can be ended where it can go on later.
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
