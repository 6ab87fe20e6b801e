#include "page/markup.h"

#include "core/text.h"

namespace assay::page {

std::string escape_markup(std::string_view raw) {
  const std::string text = printable(raw);
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size(); ++i) {
    switch (const char c = text[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\xEF':
        // U+FFFE and U+FFFF are valid UTF-8, but not characters of XML 1.0.
        if (i + 2 < text.size() && text[i + 1] == '\xBF' &&
            (text[i + 2] == '\xBE' || text[i + 2] == '\xBF')) {
          out += "\xEF\xBF\xBD";
          i += 2;
          break;
        }
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace assay::page
