#pragma once

#include <cstdint>
#include <ctime>

namespace assay::aisbench {

/// That moment of local time, in ns since the epoch.
inline std::int64_t local(int year, int month, int day, int hour, int minute, int second) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  parts.tm_isdst = -1;
  return std::mktime(&parts) * std::int64_t{1'000'000'000};
}

}  // namespace assay::aisbench
