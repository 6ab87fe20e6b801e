#include "core/one_line.h"

#include "core/utf8.h"

namespace assay {

bool is_one_line(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    char32_t code = static_cast<unsigned char>(text[0]);
    if (length > 1) code &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i)
      code = (code << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
    const bool control = code < 0x20 || (code >= 0x7F && code < 0xA0);
    const bool direction = code == 0x061C || code == 0x200E || code == 0x200F ||
                           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
    const bool invisible = code == 0x00AD || code == 0x200B || code == 0x2028 || code == 0x2029 ||
                           (code >= 0x2060 && code <= 0x2064) || code == 0xFEFF ||
                           (code >= 0xE0000 && code <= 0xE007F);
    if (control || direction || invisible) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace assay
