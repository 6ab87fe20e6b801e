#include "live/log_place.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/text.h"

namespace assay::live {

namespace {

// A header that is longer is refused on the way.
constexpr std::size_t kMaxPlace = 6000;
constexpr std::string_view kNotWhole = "x";

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

bool LogPlace::has(const std::string& log, std::uint64_t end) const {
  const auto found = ends.find(log);
  return found != ends.end() && end <= found->second;
}

void LogPlace::take(std::uint64_t line, const std::string& log, std::uint64_t end) {
  number = line;
  std::uint64_t& known = ends[log];
  known = std::max(known, end);
}

std::string text_of(const LogPlace& place) {
  const std::string begin =
      fmt::format("{}.{}.{}", place.run.empty() ? "0" : place.run, place.generation, place.number);
  std::string text = begin;
  if (place.whole)
    for (const auto& [log, end] : place.ends) text += fmt::format("_{}.{}", log, end);
  if (place.whole && text.size() <= kMaxPlace) return text;
  return fmt::format("{}_{}", begin, kNotWhole);
}

std::optional<LogPlace> parse_log_place(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '_');
  const std::vector<std::string_view> begin = split(parts.front(), '.');
  if (begin.size() != 3 || !is_name(begin[0])) return std::nullopt;
  const auto generation = parse_number<std::uint64_t>(begin[1]);
  const auto number = parse_number<std::uint64_t>(begin[2]);
  if (!generation || !number) return std::nullopt;
  LogPlace place{std::string(begin[0]), *generation, *number};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == kNotWhole) {
      place.whole = false;
      continue;
    }
    const std::vector<std::string_view> one = split(parts[i], '.');
    if (one.size() != 2 || !is_name(one[0])) return std::nullopt;
    const auto end = parse_number<std::uint64_t>(one[1]);
    if (!end) return std::nullopt;
    place.ends[std::string(one[0])] = *end;
  }
  return place;
}

}  // namespace assay::live
