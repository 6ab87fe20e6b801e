#include "pyliteral/python_strings.h"

#include <charconv>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "core/utf8.h"

namespace assay::pyliteral {

namespace {

bool valid_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class Decoder {
 public:
  Decoder(std::string_view content, StringPrefix prefix) : in_(content), prefix_(prefix) {}

  DecodedString run() {
    while (pos_ < in_.size() && out_.problem.empty()) {
      const char c = in_[pos_];
      if (c == '\\' && !prefix_.raw) {
        escape();
      } else if (prefix_.format && (c == '{' || c == '}')) {
        brace(c);
      } else if (c == '\r') {  // Python reads every line ending as LF
        out_.text += '\n';
        pos_ += in_.substr(pos_).starts_with("\r\n") ? 2 : 1;
      } else {
        out_.text += c;
        ++pos_;
      }
    }
    if (!out_.format.empty() && !out_.text.empty())
      out_.format.push_back({std::exchange(out_.text, {}), false});
    if (out_.problem.empty() && !valid_utf8(in_)) out_.problem = "a string that is not valid UTF-8";
    return std::move(out_);
  }

 private:
  void brace(char c) {
    if (in_.substr(pos_).starts_with(c == '{' ? "{{" : "}}")) {
      out_.text += c;
      pos_ += 2;
      return;
    }
    const std::size_t end = in_.find('}', pos_);
    if (c == '}' || end == std::string_view::npos) {
      out_.problem = "an f-string with unbalanced braces";
      return;
    }
    if (!out_.text.empty()) out_.format.push_back({std::exchange(out_.text, {}), false});
    out_.format.push_back({std::string(in_.substr(pos_ + 1, end - pos_ - 1)), true});
    pos_ = end + 1;
  }

  void escape() {
    const char c = pos_ + 1 < in_.size() ? in_[pos_ + 1] : '\\';
    const std::string_view simple = "\\'\"abfnrtv";
    const std::string_view meaning = "\\'\"\a\b\f\n\r\t\v";
    if (const auto at = simple.find(c); at != std::string_view::npos) {
      out_.text += meaning[at];
      pos_ += 2;
    } else if (c == '\n' || c == '\r') {
      pos_ += in_.substr(pos_ + 1).starts_with("\r\n") ? 3 : 2;
    } else if (c >= '0' && c <= '7') {
      std::size_t digits = 1;
      while (digits < 3 && pos_ + 1 + digits < in_.size() && in_[pos_ + 1 + digits] >= '0' &&
             in_[pos_ + 1 + digits] <= '7')
        ++digits;
      numeric(pos_ + 1, digits, 8);
    } else if (c == 'x') {
      numeric(pos_ + 2, 2, 16);
    } else if (c == 'u') {
      numeric(pos_ + 2, 4, 16);
    } else if (c == 'U') {
      numeric(pos_ + 2, 8, 16);
    } else if (c == 'N') {
      out_.problem = "a string with a \\N{…} escape";
    } else {  // Python keeps the backslash of an escape it does not know
      out_.text += '\\';
      ++pos_;
    }
  }

  void numeric(std::size_t begin, std::size_t digits, int base) {
    std::uint32_t code = 0;
    const std::string_view text = begin <= in_.size() ? in_.substr(begin, digits) : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), code, base);
    if (error != std::errc{} || text.size() != digits || end != text.data() + text.size()) {
      out_.problem = "a string with a broken escape";
      return;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
      out_.problem = "a string with an escape that is not a character";
      return;
    }
    char bytes[4];
    out_.text.append(bytes, put_utf8(bytes, code));
    pos_ = begin + digits;
  }

  std::string_view in_;
  StringPrefix prefix_;
  std::size_t pos_ = 0;
  DecodedString out_;
};

/// The text without underscores between digits; nothing if one is elsewhere.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
      continue;
    }
    const auto digit = [&](std::size_t at) {
      return at < text.size() && text[at] != '_' && text[at] != '.';
    };
    if (i == 0 || !digit(i - 1) || !digit(i + 1)) return std::nullopt;
  }
  return out;
}

std::optional<Value> decode_integer(std::string_view digits, int base, std::string& note) {
  std::int64_t integer = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), integer, base);
  if (digits.empty() || end != digits.data() + digits.size() ||
      error == std::errc::invalid_argument)
    return std::nullopt;
  if (error == std::errc{}) return Value::of_integer(integer);
  double real = 0;
  for (const char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    real = real * base + digit;
  }
  note = "an integer beyond 64 bits, kept as a floating-point number";
  return Value::of_real(real);
}

}  // namespace

DecodedString decode_string(std::string_view content, StringPrefix prefix) {
  return Decoder(content, prefix).run();
}

std::optional<Value> decode_number(std::string_view text, std::string& note) {
  const auto plain = without_underscores(text);
  if (!plain || plain->empty()) {
    note = fmt::format("'{}' is not a number", text);
    return std::nullopt;
  }
  const std::string& digits = *plain;
  if (digits.size() > 2 && digits[0] == '0') {
    const char letter = static_cast<char>(digits[1] | 0x20);
    const int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (base != 0) {
      auto value = decode_integer(std::string_view(digits).substr(2), base, note);
      if (!value) note = fmt::format("'{}' is not a number", text);
      return value;
    }
  }
  if (digits.find_first_not_of("0123456789") == std::string::npos) {
    if (digits.size() > 1 && digits[0] == '0' &&
        digits.find_first_not_of('0') != std::string::npos) {
      note = fmt::format("'{}': Python allows no leading zeros in a number", text);
      return std::nullopt;
    }
    return decode_integer(digits, 10, note);
  }
  if (digits.back() == 'j' || digits.back() == 'J') {
    note = "an imaginary number";
    return std::nullopt;
  }
  double real = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument ||
      digits.find_first_not_of("0123456789.eE+-") != std::string::npos) {
    note = fmt::format("'{}' is not a number", text);
    return std::nullopt;
  }
  // Out of a double's range: infinity or zero, as in Python.
  if (error == std::errc::result_out_of_range) real = std::strtod(digits.c_str(), nullptr);
  return Value::of_real(real);
}

}  // namespace assay::pyliteral
