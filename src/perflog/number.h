#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
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

/// Appends the digits at `p` to `mantissa` (which wraps beyond 19 digits); gives their end, which
/// lies before `limit`. Up to `limit` may be read.
inline const char* read_digits(const char* p, const char* limit, std::uint64_t& mantissa) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    static constexpr std::array<std::uint64_t, 9> kPowers{
        1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    while (limit - p >= 8) {
      std::uint64_t eight;
      std::memcpy(&eight, p, sizeof eight);
      eight ^= 0x3030303030303030U;
      // The lowest set bit is in the first byte that is not a digit; no branch on the length.
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

inline bool skip_word(const char*& p, const char* word) noexcept {
  const char* q = p;
  for (; *word != '\0'; ++word, ++q)
    if (*q != *word) return false;
  p = q;
  return true;
}

/// std::from_chars, with infinity or zero where the number is out of range (as Python reads it).
inline double read_double_slowly(const char* begin, const char* end) noexcept {
  double value = 0;
  if (std::from_chars(begin, end, value).ec == std::errc::result_out_of_range) {
    const bool negative = *begin == '-';
    long magnitude = 0;  // decimal exponent of the first significant digit
    bool significant = false;
    bool fraction = false;
    const char* p = negative ? begin + 1 : begin;
    for (; p != end && *p != 'e' && *p != 'E'; ++p) {
      if (*p == '.') {
        fraction = true;
        continue;
      }
      if (!fraction && significant) ++magnitude;
      if (fraction && !significant) --magnitude;
      significant = significant || *p != '0';
    }
    if (p != end) {
      ++p;
      const bool down = *p == '-';
      if (*p == '-' || *p == '+') ++p;
      long exponent = 0;
      for (; p != end; ++p) exponent = exponent < 100000000 ? exponent * 10 + (*p - '0') : exponent;
      magnitude += down ? -exponent : exponent;
    }
    value = magnitude > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    if (negative) value = -value;
  }
  return value;
}

/// The double nearest to mantissa / 10^places (ties to even), for 1 <= mantissa and places <= 27:
/// a division of integers whose remainder decides the rounding, so it is exact. Many times faster
/// than the general algorithm, and enough for what programs print with 17 digits.
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

/// The rest of read_number for numbers with a fraction or an exponent, which is at `p`; the digits
/// before it are at `digits`, the sign at `begin`.
inline const char* read_fraction(const char* begin, const char* digits, const char* p,
                                 const char* limit, std::uint64_t mantissa, Number& out) noexcept {
  static constexpr std::array<double, 23> kPowers{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const bool negative = begin != digits;
  std::ptrdiff_t count = p - digits;
  std::ptrdiff_t exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    p = read_digits(p, limit, mantissa);
    exponent = fraction - p;
    count -= exponent;
    if (count > 19)  // leading zeros are not significant
      for (const char* q = digits; q != p && (*q == '0' || *q == '.'); ++q) count -= *q == '0';
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    if (!is_digit(*p)) return nullptr;
    std::ptrdiff_t written = 0;
    for (; is_digit(*p); ++p) written = written < 100000 ? written * 10 + (*p - '0') : written;
    exponent += down ? -written : written;
  }
  constexpr std::uint64_t exact = std::uint64_t{1} << 53;
  if (count <= 19 && mantissa <= exact && exponent >= -22 && exponent <= 22) {
    // Both factors are exact doubles, so one operation rounds correctly.
    const double m = static_cast<double>(mantissa);
    out.value = exponent < 0 ? m / kPowers[static_cast<std::size_t>(-exponent)]
                             : m * kPowers[static_cast<std::size_t>(exponent)];
  } else if (count <= 19 && mantissa != 0 && exponent < 0 && exponent >= -27) {
    out.value = divide_by_power_of_ten(mantissa, static_cast<unsigned>(-exponent));
  } else {
    out.value = read_double_slowly(begin, p);
    return p;
  }
  if (negative) out.value = -out.value;
  return p;
}

/// Reads a JSON number, or NaN and Infinity; gives its end, or nullptr when there is none. A
/// newline lies at or after `p` and before `limit`; up to `limit` may be read.
inline const char* read_number(const char* p, const char* limit, Number& out) noexcept {
  const char* const begin = p;
  const bool negative = *p == '-';
  const char* const digits = p + negative;
  out.is_integer = false;
  std::uint64_t mantissa = 0;
  p = read_digits(digits, limit, mantissa);
  if (p == digits) return read_nonfinite(begin, out);
  if (*p == '.' || *p == 'e' || *p == 'E')
    return read_fraction(begin, digits, p, limit, mantissa, out);
  if (p - digits > 19) {  // 10^19 still fits
    out.value = read_double_slowly(begin, p);
    return p;
  }
  constexpr std::uint64_t max = std::numeric_limits<std::int64_t>::max();
  out.value = static_cast<double>(mantissa);
  if (negative) out.value = -out.value;
  out.is_integer = mantissa <= max;
  const std::int64_t magnitude = static_cast<std::int64_t>(mantissa & max);
  out.integer = negative ? -magnitude : magnitude;
  return p;
}

}  // namespace assay::perflog::detail
