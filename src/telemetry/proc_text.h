#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/parse_number.h"

namespace assay::telemetry {

// Parses procfs text, lines of words. Each removes what it returns from the front of `rest`.

inline std::string_view next_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return line;
}

inline std::string_view next_word(std::string_view& rest) {
  std::size_t begin = 0;
  while (begin < rest.size() && (rest[begin] == ' ' || rest[begin] == '\t')) ++begin;
  std::size_t end = begin;
  while (end < rest.size() && rest[end] != ' ' && rest[end] != '\t') ++end;
  const std::string_view word = rest.substr(begin, end - begin);
  rest.remove_prefix(end);
  return word;
}

/// Returns false if the next word is not such a number.
template <class Number>
bool next_number(std::string_view& rest, Number& out) {
  const std::optional<Number> number = parse_number<Number>(next_word(rest));
  if (number) out = *number;
  return number.has_value();
}

}  // namespace assay::telemetry
