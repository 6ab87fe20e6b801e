#pragma once

#include <csignal>
#include <stop_token>
#include <thread>

namespace assay::launch {

/// SIGINT, SIGTERM and SIGHUP become stop requests while this object lives: the first asks to end,
/// the second to end at once. Made before other threads, so that none of them takes the signals.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  [[nodiscard]] std::stop_token asked() const { return asked_.get_token(); }
  [[nodiscard]] std::stop_token at_once() const { return at_once_.get_token(); }

 private:
  std::stop_source asked_;
  std::stop_source at_once_;
  sigset_t before_{};
  std::jthread thread_;
};

}  // namespace assay::launch
