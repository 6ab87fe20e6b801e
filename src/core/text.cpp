#include "core/text.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/error.h"
#include "core/utf8.h"

namespace assay {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (&part != parts.data()) out += separator;
    out += part;
  }
  return out;
}

namespace {

// Optimal string alignment: exchanging two neighboring letters counts as one edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(above.begin(), above.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates) {
  const std::string lower = to_lower(word);
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower, to_lower(candidate));
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto guess = nearest(word, candidates);
  return guess ? " (did you mean '" + *guess + "'?)" : std::string();
}

std::string shell_quote(std::string_view word) {
  static constexpr std::string_view kHarmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kHarmless) == std::string_view::npos)
    return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string shell_join(std::span<const std::string> argv) {
  std::vector<std::string> words;
  words.reserve(argv.size());
  for (const std::string& arg : argv) words.push_back(shell_quote(arg));
  return join(words, " ");
}

std::string expand(std::string_view text, const std::map<std::string, std::string>& values,
                   const std::string& where) {
  static constexpr std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz_";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Checked before any search: the text may be long, and this runs for every character.
    if (text[i] != '{') {
      out += text[i];
      continue;
    }
    const bool doubled = text.substr(i).starts_with("{{");
    const std::size_t begin = i + (doubled ? 2 : 1);
    const std::size_t end = std::min(text.find_first_not_of(kNameCharacters, begin), text.size());
    const std::string_view close = doubled ? "}}" : "}";
    if (end == begin || !text.substr(end).starts_with(close)) {
      out += text[i];
      continue;
    }
    const std::string name(text.substr(begin, end - begin));
    i = end + close.size() - 1;
    if (doubled) {
      out += "{" + name + "}";
      continue;
    }
    const auto found = values.find(name);
    if (found == values.end()) {
      std::vector<std::string> names;
      for (const auto& [key, value] : values) names.push_back(key);
      throw Error(ErrorKind::config,
                  "unknown placeholder {" + name + "}" + did_you_mean(name, names), where,
                  "known: " + join(names, ", ") + "; write {{" + name + "}} for the text itself");
    }
    out += found->second;
  }
  return out;
}

namespace {

// The length of the ANSI escape sequence at the start of `text`, which begins with ESC.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2) return 1;
  std::size_t i = 2;
  if (text[1] == '[') {  // CSI: parameters, then a final byte
    while (i < text.size() && !(text[i] >= 0x40 && text[i] <= 0x7E)) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] == ']') {  // OSC: up to BEL or ESC backslash
    while (i < text.size() && text[i] != '\a' && text[i] != '\x1b') ++i;
    return std::min(i + (i < text.size() && text[i] == '\x1b' ? 2 : 1), text.size());
  }
  return 2;
}

// Control characters beyond ASCII (U+0080–U+009F), and those that change the direction of the
// following text (U+202A–U+202E, U+2066–U+2069).
bool is_control(std::string_view character) {
  return (character >= "\u0080" && character <= "\u009f") ||
         (character >= "\u202a" && character <= "\u202e") ||
         (character >= "\u2066" && character <= "\u2069");
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == 0x1b) {
      text.remove_prefix(escape_length(text));
    } else if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f) {
      text.remove_prefix(1);
    } else if (const std::size_t length = utf8_length(text); length > 0) {
      if (length == 1 || !is_control(text.substr(0, length))) out += text.substr(0, length);
      text.remove_prefix(length);
    } else {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    }
  }
  return out;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string ellipsize(std::string_view text, std::size_t columns) {
  if (code_points(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t seen = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80 && seen++ == columns - 1) break;
    ++end;
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace assay
