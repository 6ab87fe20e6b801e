#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace assay::perflog::detail {

struct Number {
  double value = 0;
  std::int64_t integer = 0;
  bool is_integer = false;  ///< written without fraction and exponent, and fits
};

inline bool is_digit(char c) noexcept {
  return static_cast<unsigned char>(c - '0') < 10;
}

inline bool skip_word(const char*& p, const char* word) noexcept {
  const char* q = p;
  for (; *word != '\0'; ++word, ++q)
    if (*q != *word) return false;
  p = q;
  return true;
}

/// NaN and Infinity, in the spellings of Python, JavaScript and C.
inline const char* read_nonfinite(const char* p, Number& out) noexcept {
  const bool negative = *p == '-';
  if (negative) ++p;
  if (skip_word(p, "NaN") || skip_word(p, "nan"))
    out.value = std::numeric_limits<double>::quiet_NaN();
  else if (skip_word(p, "Infinity") || skip_word(p, "inf"))
    out.value = std::numeric_limits<double>::infinity();
  else
    return nullptr;
  if (negative) out.value = -out.value;
  return p;
}

/// Reads a JSON number, or NaN and Infinity; gives its end, or nullptr when there is none. A
/// newline lies at or after `p` and before `limit`; up to `limit` may be read.
inline const char* read_number(const char* begin, const char* limit, Number& out) noexcept {
  out.is_integer = false;
  const bool negative = *begin == '-';
  if (!is_digit(begin[negative])) return read_nonfinite(begin, out);
  const auto [end, error] = std::from_chars(begin, limit, out.integer);
  if (error == std::errc{} && *end != '.' && *end != 'e' && *end != 'E' &&
      out.integer != INT64_MIN) {
    out.value = static_cast<double>(out.integer);
    if (negative) out.value = std::copysign(out.value, -1.0);
    out.is_integer = true;
    return end;
  }
  const auto [stop, problem] = std::from_chars(begin, limit, out.value);
  if (*stop == 'e' || *stop == 'E') return nullptr;
  if (problem == std::errc::result_out_of_range) out.value = std::strtod(begin, nullptr);
  return stop;
}

}  // namespace assay::perflog::detail
