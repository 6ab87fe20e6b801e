#include "http/retry.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/text.h"
#include "core/units.h"
#include "http/date.h"

namespace assay::http {

Nanoseconds jittered_pause(const RetryPolicy& policy, int failures, std::mt19937_64& random) {
  const int doublings = std::clamp(failures - 1, 0, 30);
  const double bound = std::min(seconds(policy.first_pause) * static_cast<double>(1U << doublings),
                                seconds(policy.max_pause));
  return from_seconds(std::uniform_real_distribution<double>(0.0, std::max(bound, 0.0))(random));
}

std::optional<Nanoseconds> parse_retry_after(std::string_view value, std::int64_t wall_ns) {
  value = trim(value);
  const bool digits = !value.empty() && std::all_of(value.begin(), value.end(),
                                                    [](char c) { return c >= '0' && c <= '9'; });
  if (digits) return parse_duration(value);
  const auto date = parse_http_date(value);
  if (!date) return std::nullopt;
  return Nanoseconds(std::max<std::int64_t>(0, *date - wall_ns));
}

bool pause_unless_stopped(Nanoseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  wake.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace assay::http
