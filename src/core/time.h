#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace assay {

using Nanoseconds = std::chrono::nanoseconds;

/// A moment on both clocks. Durations are always computed from `mono_ns` (CLOCK_MONOTONIC: shared
/// by all processes of one host, never steps); `wall_ns` (Unix epoch, UTC) only places things in
/// history and aligns different hosts.
struct Instant {
  std::int64_t mono_ns = 0;
  std::int64_t wall_ns = 0;
};

[[nodiscard]] Instant now() noexcept;
[[nodiscard]] std::int64_t mono_now_ns() noexcept;
[[nodiscard]] std::int64_t wall_now_ns() noexcept;
/// Like mono_now_ns(), but also counts while the machine sleeps (CLOCK_BOOTTIME).
[[nodiscard]] std::int64_t boot_now_ns() noexcept;

/// "2026-11-15T10:15:00Z"; with `millis`, "2026-11-15T10:15:00.123Z".
[[nodiscard]] std::string iso_utc(std::int64_t wall_ns, bool millis = false);

/// "20261115T101500Z", used in run ids.
[[nodiscard]] std::string compact_utc(std::int64_t wall_ns);

/// "2026-11-15-10:15:00" in local time, the stamp of FlagPerf's monitor logs.
[[nodiscard]] std::string flagperf_stamp(std::int64_t wall_ns);

[[nodiscard]] constexpr double seconds(Nanoseconds d) noexcept {
  return std::chrono::duration<double>(d).count();
}
/// Values out of range give the largest duration of their sign; NaN gives 0.
[[nodiscard]] constexpr Nanoseconds from_seconds(double s) noexcept {
  constexpr double kMax = 9.2e9;  // limit of 64-bit nanoseconds
  if (s != s) return {};
  return std::chrono::duration_cast<Nanoseconds>(
      std::chrono::duration<double>(std::clamp(s, -kMax, kMax)));
}

}  // namespace assay
