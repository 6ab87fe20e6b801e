#include "http/date.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

#include "core/text.h"

namespace assay::http {

std::string http_date(std::int64_t wall_ns) {
  constexpr std::array<std::string_view, 7> days = {"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  constexpr std::array<std::string_view, 12> months = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds = wall_ns / 1'000'000'000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     days[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     months[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  const std::string copy(trim(text));
  std::tm utc{};
  // Month names depend on the locale; Assay never sets one.
  const char* end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&utc)) * 1'000'000'000;
}

}  // namespace assay::http
