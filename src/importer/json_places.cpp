#include "importer/json_places.h"

#include <optional>

#include "config/yaml.h"
#include "core/error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace assay::importer {

namespace {

/// The code unit of "\uD83D" at the start of the text.
std::optional<char32_t> code_unit(std::string_view text) {
  if (text.size() < 6 || text[0] != '\\' || text[1] != 'u') return std::nullopt;
  char32_t code = 0;
  for (const char c : text.substr(2, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    code = code * 16 + static_cast<char32_t>(digit);
  }
  return code;
}

/// Converts JSON to a form that YAML, which knows places, also reads: tabs between tokens become
/// spaces, and a pair of escapes for one character becomes that character.
std::string as_yaml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\' && i + 1 < text.size()) {
      const auto high = code_unit(text.substr(i));
      const auto low = high ? code_unit(text.substr(i + 6)) : std::nullopt;
      if (high && low && *high >= 0xD800 && *high < 0xDC00 && *low >= 0xDC00 && *low < 0xE000) {
        char utf8[4];
        const char32_t code = 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
        out.append(utf8, put_utf8(utf8, code));
        i += 11;
        continue;
      }
      out += text[i++];
    } else if (text[i] == '"') {
      quoted = !quoted;
    }
    out += !quoted && text[i] == '\t' ? ' ' : text[i];
  }
  return out;
}

}  // namespace

config::Node parse_json_with_places(std::string_view text, const std::string& file,
                                    std::string_view what) {
  const Json json = parse_json(text, file);
  if (!json.is_object())
    throw Error(ErrorKind::config, std::string(what) + " is a JSON object", file);
  return config::parse_yaml(as_yaml(text), {file, file, false});
}

}  // namespace assay::importer
