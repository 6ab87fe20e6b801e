#include "core/json_error.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/json.h"
#include "core/text.h"

namespace assay {

namespace {

constexpr int kTooLarge = 406;  // out_of_range, for a number

// The library's name for a type.
std::string type_name(std::string_view type) {
  if (type == "boolean") return "true or false";
  if (type == "null") return "nothing";
  const bool vowel = !type.empty() && std::string_view("aeiou").find(type[0]) != type.npos;
  return fmt::format("{} {}", vowel ? "an" : "a", type);
}

// The text between two parts of `text`; empty if either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const auto from = text.find(before);
  if (from == std::string_view::npos) return {};
  const auto begin = from + before.size();
  const auto to = after.empty() ? text.size() : text.find(after, begin);
  return to == std::string_view::npos ? std::string_view() : text.substr(begin, to - begin);
}

}  // namespace

std::string JsonFlaw::place(const std::string& file) const {
  return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column);
}

std::string JsonFlaw::sentence() const {
  return line == 0 ? what : fmt::format("{} in line {}, column {}", what, line, column);
}

JsonFlaw flaw_of(const std::exception& error, std::string_view text) {
  const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&error);
  if (syntax == nullptr) return {plain_error(error)};
  if (trim(text).empty()) return {text.empty() ? "it is empty" : "it has nothing but blanks"};
  // The library gives the last byte it read, counted from 1; at the end, one past the last.
  const std::size_t at = std::min(syntax->byte > 0 ? syntax->byte - 1 : 0, text.size());
  JsonFlaw flaw;
  const std::string_view before = text.substr(0, at);
  flaw.line = 1 + static_cast<int>(std::ranges::count(before, '\n'));
  const auto line_begin = before.rfind('\n');
  flaw.column =
      static_cast<int>(at - (line_begin == std::string_view::npos ? 0 : line_begin + 1)) + 1;
  const std::string_view said = error.what();
  if (at >= text.size() || trim(text.substr(at)).empty())
    flaw.what = "it ends too early";
  else if (said.find("UTF-8") != std::string_view::npos)
    flaw.what = "a text that is not UTF-8";
  else if (said.find("surrogate") != std::string_view::npos)
    flaw.what = "half of a character that JSON writes as a pair (\\ud800 … \\udfff)";
  else if (said.find("control character") != std::string_view::npos)
    flaw.what = "a line end or control character inside a text";
  else
    flaw.what = fmt::format("unexpected '{}'", printable(text.substr(at, 1)));
  return flaw;
}

std::string plain_error(const std::exception& error) {
  const auto* json = dynamic_cast<const nlohmann::json::exception*>(&error);
  if (json == nullptr) return error.what();
  std::string_view said = error.what();
  if (const auto end = said.find("] "); said.starts_with("[json.exception.") && end != said.npos)
    said.remove_prefix(end + 2);
  if (const auto key = between(said, "key '", "' not found"); !key.empty())
    return fmt::format("there is no '{}'", printable(key));
  if (const auto index = between(said, "array index ", " is out of range"); !index.empty())
    return fmt::format("there is no item {}", index);
  const std::string_view wanted = between(said, "type must be ", ", but is ");
  if (!wanted.empty())
    return fmt::format("expected {}, got {}", type_name(wanted),
                       type_name(between(said, ", but is ", "")));
  if (const auto got = between(said, " with ", ""); said.starts_with("cannot use ") && !got.empty())
    return fmt::format("{} is not what belongs here", type_name(got));
  if (json->id == kTooLarge) return "a number is too large";
  return printable(said);
}

}  // namespace assay
