#include "core/time.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace assay {

namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

std::int64_t read_clock(clockid_t id) noexcept {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * kNanosPerSecond + ts.tv_nsec;
}

std::string format_tm(const std::tm& tm, const char* pattern) {
  std::array<char, 64> buffer{};
  const std::size_t n = std::strftime(buffer.data(), buffer.size(), pattern, &tm);
  return {buffer.data(), n};
}

std::tm utc(std::int64_t wall_ns) {
  std::time_t t = wall_ns / kNanosPerSecond;
  std::tm tm{};
  gmtime_r(&t, &tm);
  return tm;
}

}  // namespace

Instant now() noexcept {
  return {mono_now_ns(), wall_now_ns()};
}
std::int64_t mono_now_ns() noexcept {
  return read_clock(CLOCK_MONOTONIC);
}
std::int64_t wall_now_ns() noexcept {
  return read_clock(CLOCK_REALTIME);
}
std::int64_t boot_now_ns() noexcept {
  return read_clock(CLOCK_BOOTTIME);
}

std::string iso_utc(std::int64_t wall_ns, bool millis) {
  std::string text = format_tm(utc(wall_ns), "%Y-%m-%dT%H:%M:%S");
  if (millis) {
    std::array<char, 8> ms{};
    std::snprintf(ms.data(), ms.size(), ".%03d",
                  static_cast<int>((wall_ns % kNanosPerSecond) / 1'000'000));
    text += ms.data();
  }
  return text + "Z";
}

std::string compact_utc(std::int64_t wall_ns) {
  return format_tm(utc(wall_ns), "%Y%m%dT%H%M%SZ");
}

std::string flagperf_stamp(std::int64_t wall_ns) {
  std::time_t t = wall_ns / kNanosPerSecond;
  std::tm tm{};
  localtime_r(&t, &tm);
  return format_tm(tm, "%Y-%m-%d-%H:%M:%S");
}

}  // namespace assay
