#include "launch/modelarts/stop_signals.h"

#include <ctime>

namespace assay::launch {

StopSignals::StopSignals() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&watched, signal);
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
  thread_ = std::jthread([this, watched](const std::stop_token& done) {
    while (!done.stop_requested()) {
      const timespec tick{0, 100'000'000};
      if (::sigtimedwait(&watched, nullptr, &tick) < 0) continue;
      if (asked_.stop_requested()) at_once_.request_stop();
      asked_.request_stop();
    }
  });
}

StopSignals::~StopSignals() {
  thread_.request_stop();
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace assay::launch
