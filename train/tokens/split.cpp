#include "train/tokens/split.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/utf8.h"
#include "train/tokens/unicode_ranges.h"

namespace assay::train::tokens {

namespace {

constexpr std::string_view kContractions = "'s|'t|'re|'ve|'m|'ll|'d";

bool in_ranges(std::span<const CodeRange> ranges, char32_t code) noexcept {
  const auto after = std::ranges::upper_bound(ranges, code, {}, &CodeRange::first);
  return after != ranges.begin() && code <= std::prev(after)->last;
}

Glyph classify(char32_t code) noexcept {
  if (code == '\r' || code == '\n') return Glyph::line_end;
  const bool space = (code >= 9 && code <= 13) || code == ' ' || code == 0x85 || code == 0xA0 ||
                     code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
                     code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
  if (space) return Glyph::space;
  if (in_ranges(letter_ranges(), code)) return Glyph::letter;
  if (in_ranges(number_ranges(), code)) return Glyph::number;
  return Glyph::mark;
}

constexpr std::size_t kPlane = 0x10000;

const std::array<Glyph, kPlane>& basic_plane() noexcept {
  static const std::array<Glyph, kPlane> table = [] {
    std::array<Glyph, kPlane> all{};
    for (std::size_t code = 0; code < kPlane; ++code)
      all[code] = classify(static_cast<char32_t>(code));
    return all;
  }();
  return table;
}

/// Reads text forward, one code point at a time.
class Cursor {
 public:
  Cursor(std::string_view text, const Glyph* table) noexcept : text_(text), table_(table) {}

  struct Seen {
    Glyph glyph;
    std::uint8_t length;
  };

  [[nodiscard]] Seen at(std::size_t at) const noexcept {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {table_[byte], 1};
    return beyond_ascii(at);
  }

  /// The end of the run of `glyph` that starts at `from`.
  [[nodiscard]] std::size_t run(std::size_t from, Glyph glyph) const noexcept {
    while (from < text_.size()) {
      const Seen seen = at(from);
      if (seen.glyph != glyph) break;
      from += seen.length;
    }
    return from;
  }

  [[nodiscard]] bool is(std::size_t from, Glyph glyph) const noexcept {
    return from < text_.size() && at(from).glyph == glyph;
  }

 private:
  [[nodiscard]] Seen beyond_ascii(std::size_t at) const noexcept {
    const std::size_t length = utf8_length(text_.substr(at));
    if (length == 0) return {Glyph::mark, 1};
    char32_t code = static_cast<unsigned char>(text_[at]) & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i)
      code = code << 6 | (static_cast<unsigned char>(text_[at + i]) & 0x3FU);
    return {code < kPlane ? table_[code] : classify(code), static_cast<std::uint8_t>(length)};
  }

  std::string_view text_;
  const Glyph* table_;
};

// The length of the contraction after the apostrophe at `at`; 0 if none.
std::size_t contraction(std::string_view text, std::size_t at, bool any_case) noexcept {
  const auto letter = [&](std::size_t i) {
    if (at + i >= text.size()) return '\0';
    const char c = text[at + i];
    return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  const char first = letter(1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  const char second = letter(2);
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l'))
    return 3;
  // The long s, U+017F, is an s in another case.
  if (any_case && first == '\xC5' && second == '\xBF') return 3;
  return 0;
}

// The last of white space before a mark, letter or number is left to what follows.
std::size_t space_end(const Cursor& cursor, std::string_view text, std::size_t at,
                      bool line_ends) noexcept {
  std::size_t end = at;
  std::size_t last = at;
  std::size_t lines = at;
  while (end < text.size()) {
    const auto [glyph, length] = cursor.at(end);
    if (glyph != Glyph::space && glyph != Glyph::line_end) break;
    last = end;
    end += length;
    if (glyph == Glyph::line_end) lines = end;
  }
  if (line_ends && lines > at) return lines;
  return end == text.size() || last == at ? end : last;
}

}  // namespace

std::string pattern_of(const SplitRules& rules) {
  const std::string contractions{kContractions};
  if (rules == kGpt2Rules)
    return contractions + R"(| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
  return "(?i:" + contractions + R"()|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" +
         (rules.most_digits > 1 ? "{1," + std::to_string(rules.most_digits) + "}" : "") +
         R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
}

std::optional<SplitRules> rules_of(std::string_view pattern) {
  for (const SplitRules& rules : {kGpt2Rules, kLlama3Rules, kQwen2Rules})
    if (pattern == pattern_of(rules)) return rules;
  return std::nullopt;
}

Glyph glyph_of(char32_t code) noexcept {
  return code < kPlane ? basic_plane()[code] : classify(code);
}

std::size_t piece_end(std::string_view text, std::size_t at, const SplitRules& rules) noexcept {
  const Cursor cursor(text, basic_plane().data());
  const auto [glyph, length] = cursor.at(at);
  const std::size_t next = at + length;
  if (glyph == Glyph::letter) return cursor.run(next, Glyph::letter);
  if (text[at] == '\'')
    if (const std::size_t size = contraction(text, at, rules.any_case); size > 0) return at + size;
  const bool blank = text[at] == ' ';
  const bool leads = rules.any_lead ? glyph == Glyph::mark || glyph == Glyph::space : blank;
  if (leads && cursor.is(next, Glyph::letter)) return cursor.run(next, Glyph::letter);
  if (rules.most_digits == 0) {
    if (glyph == Glyph::number || (blank && cursor.is(next, Glyph::number)))
      return cursor.run(next, Glyph::number);
  } else if (glyph == Glyph::number) {
    std::size_t end = next;
    for (int digits = 1; digits < rules.most_digits && cursor.is(end, Glyph::number); ++digits)
      end += cursor.at(end).length;
    return end;
  }
  if (glyph == Glyph::mark || (blank && cursor.is(next, Glyph::mark))) {
    const std::size_t end = cursor.run(next, Glyph::mark);
    return rules.line_ends ? cursor.run(end, Glyph::line_end) : end;
  }
  return space_end(cursor, text, at, rules.line_ends);
}

std::size_t next_cut(std::string_view text, std::size_t at) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  // A word's leading blank always begins a piece, and the letter before it ends one whatever
  // follows.
  for (; at + 1 < text.size(); ++at)
    if (text[at] == ' ' && is_letter(text[at + 1]) && is_letter(text[at - 1])) return at;
  return text.size();
}

}  // namespace assay::train::tokens
