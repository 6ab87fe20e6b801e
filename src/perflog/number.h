#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace assay::perflog::detail {

struct Number {
  double value = 0;
  std::int64_t integer = 0;
  bool is_integer = false;  ///< no fraction or exponent, and in range
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

/// NaN and Infinity as spelled by Python, JavaScript and C.
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

/// Appends the digits at `p` to `mantissa` (which wraps beyond 19 digits) and returns their end,
/// which must be before `limit`. May read up to `limit`.
inline const char* read_digits(const char* p, const char* limit, std::uint64_t& mantissa) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    static constexpr std::array<std::uint64_t, 9> kPowers{
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    while (limit - p >= 8) {
      std::uint64_t eight;
      std::memcpy(&eight, p, sizeof eight);
      eight ^= 0x3030303030303030U;
      // The lowest set bit is in the first non-digit byte, so no branch depends on the length.
      const std::uint64_t other = ((eight + 0x7676767676767676U) | eight) & 0x8080808080808080U;
      const int bits = std::countr_zero(other) & ~7;
      if (bits == 0) return p;
      eight <<= 64 - bits;
      // Pairs, then fours, then eight: three multiplications instead of eight.
      eight = (eight * 10 + (eight >> 8)) & 0x00FF00FF00FF00FFU;
      eight = (eight * 100 + (eight >> 16)) & 0x0000FFFF0000FFFFU;
      eight = (eight * 10000 + (eight >> 32)) & 0x00000000FFFFFFFFU;
      mantissa = mantissa * kPowers[static_cast<std::size_t>(bits) / 8] + eight;
      p += bits / 8;
      if (bits != 64) return p;
    }
  }
  while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<std::uint64_t>(*p++ - '0');
  return p;
}

/// The double nearest to mantissa / 10^places (ties to even), for 1 <= mantissa and places <= 27.
/// Exact, because an integer division's remainder decides the rounding. Many times faster than the
/// general algorithm, and sufficient for the 17 digits that programs print.
inline double divide_by_power_of_ten(std::uint64_t mantissa, unsigned places) noexcept {
  __extension__ using Wide = unsigned __int128;
  static constexpr auto kFives = [] {
    std::array<std::uint64_t, 28> fives{1};  // 5^27 < 2^63
    for (std::size_t i = 1; i < fives.size(); ++i) fives[i] = fives[i - 1] * 5;
    return fives;
  }();
  const int mantissa_shift = std::countl_zero(mantissa);
  const int divisor_shift = std::countl_zero(kFives[places]);
  const std::uint64_t dividend = mantissa << mantissa_shift;
  const std::uint64_t divisor = kFives[places] << divisor_shift;
  // Both have their top bit set; the shift brings the quotient into [2^63, 2^64).
  const int shift = dividend >= divisor ? 63 : 64;
  const Wide numerator = Wide{dividend} << shift;
  const std::uint64_t quotient = static_cast<std::uint64_t>(numerator / divisor);
  const bool inexact = Wide{quotient} * divisor != numerator;
  std::uint64_t rounded = quotient >> 11;
  const std::uint64_t cut = quotient & 0x7FF;
  if (cut > 0x400 || (cut == 0x400 && (inexact || (rounded & 1) != 0))) ++rounded;
  const int exponent = 11 - shift - mantissa_shift + divisor_shift - static_cast<int>(places);
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
  return static_cast<double>(rounded) * scale;
}

/// Reads any number; out of range it becomes infinity or zero, as in Python.
inline const char* read_other(const char* begin, const char* limit, Number& out) noexcept {
  const auto [end, problem] = std::from_chars(begin, limit, out.value);
  if (*end == 'e' || *end == 'E') return nullptr;
  if (problem == std::errc::result_out_of_range) out.value = std::strtod(begin, nullptr);
  return end;
}

/// Reads a JSON number, NaN or Infinity and returns its end, or nullptr. There must be a newline at
/// or after `p` and before `limit`; may read up to `limit`. The numbers that programs usually
/// print, integers and decimals that a single division makes exact, are read here, because
/// std::from_chars takes twice as long; it reads the rest.
inline const char* read_number(const char* begin, const char* limit, Number& out) noexcept {
  static constexpr std::array kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                      1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                      1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;  // as a double
  out.is_integer = false;
  const bool negative = *begin == '-';
  const char* const digits = begin + negative;
  std::uint64_t mantissa = 0;
  const char* p = read_digits(digits, limit, mantissa);
  if (p == digits) return read_nonfinite(begin, out);
  std::ptrdiff_t count = p - digits;
  if (*p != '.' && *p != 'e' && *p != 'E' && count <= 19 &&  // 10^19 still fits
      mantissa <= std::numeric_limits<std::int64_t>::max()) {
    const std::int64_t magnitude = static_cast<std::int64_t>(mantissa);
    out.is_integer = true;
    out.integer = negative ? -magnitude : magnitude;
    out.value = negative ? -static_cast<double>(mantissa) : static_cast<double>(mantissa);
    return p;
  }
  std::ptrdiff_t places = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    p = read_digits(p, limit, mantissa);
    places = p - fraction;
    count += places;
    if (count > 19)  // leading zeros are not significant
      for (const char* q = digits; q != p && (*q == '0' || *q == '.'); ++q) count -= *q == '0';
  }
  if (*p == 'e' && p[1] == '-' && is_digit(p[2]) && is_digit(p[3]) && !is_digit(p[4])) {
    places += (p[2] - '0') * 10 + p[3] - '0';
    p += 4;
  }
  double value = 0;
  if (count > 19 || *p == 'e' || *p == 'E' || places > 27) {
    return read_other(begin, limit, out);
  }
  if (mantissa <= exact && places < std::ssize(kPowers)) {
    // Both are exact doubles, so one operation rounds correctly.
    value = static_cast<double>(mantissa) / kPowers[static_cast<std::size_t>(places)];
  } else if (mantissa != 0) {
    value = divide_by_power_of_ten(mantissa, static_cast<unsigned>(places));
  }
  out.value = negative ? -value : value;
  return p;
}

}  // namespace assay::perflog::detail
