#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "core/time.h"

namespace assay {

/// A stop that is requested when `parent` is, or `limit` has passed (never, without one): for work
/// that must be bounded in time but only knows how to be stopped.
class TimedStop {
 public:
  TimedStop(std::stop_token parent, std::optional<Nanoseconds> limit)
      : passed_on_(std::move(parent), Request{source_}) {
    if (!limit) return;
    until_ns_ = mono_now_ns() + limit->count();
    timer_ = std::jthread([this, limit](const std::stop_token& done) {
      std::mutex mutex;
      std::condition_variable_any wake;
      std::unique_lock lock(mutex);
      wake.wait_for(lock, done, *limit, [] { return false; });
      if (!done.stop_requested()) source_.request_stop();
    });
  }
  TimedStop(const TimedStop&) = delete;
  TimedStop& operator=(const TimedStop&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  /// Whether the time is up, no matter who else requested a stop.
  [[nodiscard]] bool expired() const { return until_ns_ && mono_now_ns() >= *until_ns_; }

 private:
  struct Request {
    std::stop_source& source;
    void operator()() const { source.request_stop(); }
  };

  std::stop_source source_;
  std::optional<std::int64_t> until_ns_;
  std::stop_callback<Request> passed_on_;
  std::jthread timer_;  ///< last: it uses the others
};

}  // namespace assay
