#include "live/log_line.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "core/text.h"
#include "perflog/token.h"

namespace assay::live {

namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// The word before `place`, past blanks: "0" of "0 errors", "no" of "no errors".
std::string_view word_before(std::string_view line, std::size_t place) {
  while (place > 0 && line[place - 1] == ' ') --place;
  std::size_t begin = place;
  while (begin > 0 && is_word(line[begin - 1])) --begin;
  return line.substr(begin, place - begin);
}

enum class Ends : std::uint8_t { word, anywhere };
struct Sign {
  std::string_view lower_case;  // its first letter is looked for in both cases
  Ends ends;
  bool begins_word;
  Level level;
};
// "RuntimeError:" and "java.lang.Exception" have the word at their end, "errors" has one more
// letter.
constexpr std::array kSigns{
    Sign{"error", Ends::word, false, Level::error},
    Sign{"exception", Ends::word, false, Level::error},
    Sign{"traceback (most recent", Ends::anywhere, true, Level::error},
    Sign{"fatal", Ends::word, true, Level::error},
    Sign{"segmentation fault", Ends::word, true, Level::error},
    Sign{"core dumped", Ends::word, true, Level::error},
    Sign{"out of memory", Ends::word, true, Level::error},
    Sign{"panic", Ends::word, true, Level::error},
    Sign{"aborted", Ends::word, true, Level::error},
    Sign{"critical", Ends::word, true, Level::error},
    Sign{"command not found", Ends::word, true, Level::error},
    Sign{"no such file or directory", Ends::word, true, Level::error},
    Sign{"permission denied", Ends::word, true, Level::error},
    Sign{"warning", Ends::word, false, Level::warning},
    Sign{"warn", Ends::word, true, Level::warning},
};

bool is_at(std::string_view line, std::size_t place, const Sign& sign) {
  const std::string_view text = sign.lower_case;
  if (line.size() - place < text.size()) return false;
  for (std::size_t i = 1; i < text.size(); ++i)
    if (lower(line[place + i]) != text[i]) return false;
  const std::size_t end = place + text.size();
  if (sign.ends == Ends::word && end < line.size() && is_word(line[end])) return false;
  if (place > 0 && (line[place - 1] == '_' || line[place - 1] == '-')) return false;
  // "RuntimeError" ends with the word, "terror" does not.
  const bool inside = place > 0 && is_word(line[place - 1]);
  const bool camel =
      inside && line[place] != lower(line[place]) && line[place - 1] == lower(line[place - 1]);
  if (inside && (sign.begins_word || !camel)) return false;
  const std::string_view before = word_before(line, place);
  return before != "0" && before != "no" && before != "No" && before != "without";
}

// Whether a sign begins with these two letters: most places of a line need no further look.
constexpr auto kBeginnings = [] {
  std::array<bool, std::size_t{26} * 26> pairs{};
  for (const Sign& sign : kSigns) {
    const auto first = static_cast<std::size_t>(sign.lower_case[0] - 'a');
    const auto second = static_cast<std::size_t>(sign.lower_case[1] - 'a');
    pairs[first * 26 + second] = true;
  }
  return pairs;
}();

bool may_begin(char first, char second) {
  const unsigned a = static_cast<unsigned char>(lower(first)) - unsigned{'a'};
  const unsigned b = static_cast<unsigned char>(lower(second)) - unsigned{'a'};
  return a < 26 && b < 26 && kBeginnings[a * 26 + b];
}

bool is_perflog(std::string_view line) {
  const char* end = line.data() + line.size();
  return perflog::detail::find_token(line.data(), end) != end;
}

}  // namespace

Level level_of(std::string_view line) noexcept {
  if (is_perflog(line)) return Level::perf;
  Level level = Level::text;
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (!may_begin(line[i], line[i + 1])) continue;
    for (const Sign& sign : kSigns)
      if (lower(line[i]) == sign.lower_case[0] && sign.level > level && is_at(line, i, sign))
        level = sign.level;
    if (level == Level::error) break;
  }
  return level;
}

std::optional<std::int64_t> time_of(std::string_view line) noexcept {
  constexpr std::string_view kKey = "\"time_ms\":";
  if (!is_perflog(line)) return std::nullopt;
  const std::size_t key = line.rfind(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(key + kKey.size());
  while (!rest.empty() && rest[0] == ' ') rest.remove_prefix(1);
  std::int64_t time = 0;
  const auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), time);
  // Nothing before 2001 and after 2286: such a clock says nothing about the order of lines.
  if (ec != std::errc{} || time < 1'000'000'000'000 || time > 10'000'000'000'000)
    return std::nullopt;
  return time;
}

std::string shown(std::string_view line) {
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (const std::size_t overwritten = line.rfind('\r'); overwritten != std::string_view::npos)
    line.remove_prefix(overwritten + 1);
  return printable(line);
}

}  // namespace assay::live
