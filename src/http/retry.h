#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <stop_token>
#include <string_view>

#include "core/time.h"

namespace assay::http {

/// How often a request is tried again, and how long to wait in between.
struct RetryPolicy {
  int attempts = 6;  ///< in all; 1 means no second try
  Nanoseconds first_pause = std::chrono::milliseconds(200);
  Nanoseconds max_pause = std::chrono::seconds(20);
  Nanoseconds max_retry_after = std::chrono::minutes(2);  ///< a longer Retry-After ends the tries
};

/// "Later": the request was turned away and had no effect (too early, too many).
[[nodiscard]] constexpr bool turned_away(int status) noexcept {
  return status == 425 || status == 429;
}

/// Full jitter: uniform between 0 and `first_pause` · 2^(failures-1), at most `max_pause`.
/// `failures` counts from 1.
[[nodiscard]] Nanoseconds jittered_pause(const RetryPolicy& policy, int failures,
                                         std::mt19937_64& random);

/// The value of Retry-After: seconds, or an HTTP date (against `wall_ns`; the past is 0).
[[nodiscard]] std::optional<Nanoseconds> parse_retry_after(std::string_view value,
                                                           std::int64_t wall_ns);

/// Sleeps; false when `stop` was requested before the end.
[[nodiscard]] bool pause_unless_stopped(Nanoseconds duration, const std::stop_token& stop);

}  // namespace assay::http
