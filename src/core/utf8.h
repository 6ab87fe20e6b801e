#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

/// Writes a code point as UTF-8 and returns the number of bytes, at most four.
inline std::size_t put_utf8(char* out, char32_t code) noexcept {
  if (code < 0x80) {
    *out = static_cast<char>(code);
    return 1;
  }
  const std::size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (std::size_t i = length - 1; i > 0; --i, code >>= 6)
    out[i] = static_cast<char>(0x80 | (code & 0x3F));
  out[0] = static_cast<char>((0xF00U >> length) | code);
  return length;
}

/// The length of the well-formed UTF-8 sequence (no surrogates) at the start of `text`, which must
/// not be empty; 0 when there is none.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // overlong
  if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogate
  if (lead == 0xF0 && byte(1) < 0x90) return 0;  // overlong
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return length;
}

}  // namespace assay
