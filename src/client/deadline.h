#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

#include "core/time.h"

namespace assay::client {

/// Ends something after a total time, or when somebody else wants it to end: its token asks for
/// that. A limit of 0 is none.
class Deadline {
 public:
  Deadline(Nanoseconds limit, const std::stop_token& outer);
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  /// It was the time, not somebody.
  [[nodiscard]] bool is_over() const noexcept { return over_; }

 private:
  struct Forward {
    std::stop_source to;
    void operator()() { to.request_stop(); }
  };

  std::stop_source source_;
  std::atomic<bool> over_{false};
  std::stop_callback<Forward> forward_;
  std::jthread timer_;  ///< last: it uses the others
};

}  // namespace assay::client
