#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Escapes `text` for expand() (core/text.h): doubles braces that look like a placeholder's, as in
/// "${{i}}" for a shell's "${i}". For commands by people who know no placeholders.
[[nodiscard]] inline std::string without_placeholders(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = text[i] == '{'
                                ? text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", i + 1)
                                : std::string_view::npos;
    if (end == std::string_view::npos || end == i + 1 || text[end] != '}') {
      out += text[i];
      continue;
    }
    out.append("{").append(text.substr(i, end - i + 1)).append("}");
    i = end;
  }
  return out;
}

}  // namespace assay
