#pragma once

#include <cstddef>
#include <string_view>

#include "core/utf8.h"

namespace assay {

/// Whether it is UTF-8 without NUL characters.
[[nodiscard]] inline bool is_utf8_text(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || text[0] == '\0') return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace assay
