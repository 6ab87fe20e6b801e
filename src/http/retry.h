#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <stop_token>
#include <string_view>

#include "core/time.h"

namespace assay::http {

/// How often to repeat a request, and how long to wait in between.
struct RetryPolicy {
  int attempts = 6;  ///< in total; 1 means no second try
  Nanoseconds first_pause = std::chrono::milliseconds(200);
  Nanoseconds max_pause = std::chrono::seconds(20);
  Nanoseconds max_retry_after = std::chrono::minutes(2);  ///< a longer Retry-After stops trying
};

/// Whether the request was turned away without effect (too early, too many).
[[nodiscard]] constexpr bool turned_away(int status) noexcept {
  return status == 425 || status == 429;
}

/// Full jitter: uniform between 0 and `first_pause` · 2^(failures-1), at most `max_pause`.
/// `failures` counts from 1.
[[nodiscard]] Nanoseconds jittered_pause(const RetryPolicy& policy, int failures,
                                         std::mt19937_64& random);

/// The value of Retry-After: seconds, or an HTTP date (relative to `wall_ns`; the past is 0).
[[nodiscard]] std::optional<Nanoseconds> parse_retry_after(std::string_view value,
                                                           std::int64_t wall_ns);

/// Sleeps; returns false if `stop` was requested before the end.
[[nodiscard]] bool pause_unless_stopped(Nanoseconds duration, const std::stop_token& stop);

}  // namespace assay::http
