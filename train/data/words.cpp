#include "train/data/words.h"

#include <algorithm>
#include <array>

#include "core/utf8.h"

namespace assay::train::data {

namespace {

constexpr char32_t replacement = 0xFFFD;

bool between(char32_t c, char32_t low, char32_t high) {
  return c >= low && c <= high;
}

bool is_space(char32_t c) {
  return c == ' ' || between(c, '\t', '\r') || c == 0xA0 || c == 0x1680 ||
         between(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool is_dropped(char32_t c) {
  return c == 0 || c == replacement || c < 0x20 || between(c, 0x7F, 0x9F) || c == 0xAD ||
         between(c, 0x200B, 0x200F) || between(c, 0x202A, 0x202E) || c == 0xFEFF;
}

bool stands_alone(char32_t c) {
  if (c < 0x80)
    return between(c, 33, 47) || between(c, 58, 64) || between(c, 91, 96) || between(c, 123, 126);
  return c == 0xA1 || c == 0xA7 || c == 0xAB || c == 0xB6 || c == 0xB7 || c == 0xBB || c == 0xBF ||
         between(c, 0x2010, 0x2027) || between(c, 0x2030, 0x205E) || between(c, 0x3001, 0x3003) ||
         between(c, 0x3008, 0x3011) || between(c, 0x3400, 0x4DBF) || between(c, 0x4E00, 0x9FFF) ||
         between(c, 0xF900, 0xFAFF) || between(c, 0xFF01, 0xFF0F) || between(c, 0x20000, 0x2FA1F);
}

// Base letters of U+00E0…U+00FF and U+0100…U+017F; '.' if there is none.
constexpr std::string_view latin1_base = "aaaaaa.ceeeeiiii.nooooo..uuuuy.y";
constexpr std::string_view latin_a_base =
    "aaaaaaccccccccdd..eeeeeeeeeegggggggghh..iiiiiiiii...jjkk.llllll....nnnnnn...oooooo..rrrrrr"
    "sssssssstttt..uuuuuuuuuuuuwwyyyzzzzzz.";
static_assert(latin1_base.size() == 32 && latin_a_base.size() == 128);
constexpr std::array<char32_t, 8> latin_a_capitals{0x110, 0x126, 0x132, 0x13F,
                                                   0x141, 0x14A, 0x152, 0x166};

// Lower case without accents; 0 for a combining accent.
char32_t fold(char32_t c) {
  if (c < 0x80) return between(c, 'A', 'Z') ? c + 32 : c;
  if (between(c, 0xC0, 0xDE) && c != 0xD7) c += 0x20;
  if (between(c, 0xE0, 0xFF)) {
    const char base = latin1_base[c - 0xE0];
    return base == '.' ? c : static_cast<char32_t>(base);
  }
  if (between(c, 0x100, 0x17F)) {
    const char base = latin_a_base[c - 0x100];
    if (base != '.') return static_cast<char32_t>(base);
    return std::find(latin_a_capitals.begin(), latin_a_capitals.end(), c) != latin_a_capitals.end()
               ? c + 1
               : c;
  }
  if (between(c, 0x300, 0x36F)) return 0;
  if (between(c, 0x391, 0x3A9)) return c + 0x20;
  if (between(c, 0x400, 0x40F)) return c + 0x50;
  if (between(c, 0x410, 0x42F)) return c + 0x20;
  return c;
}

void append(char32_t c, std::string& out) {
  char bytes[4];
  out.append(bytes, put_utf8(bytes, c));
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) noexcept {
  const std::size_t size = utf8_length(text.substr(at));
  if (size == 0) {
    ++at;
    return replacement;
  }
  char32_t c = static_cast<unsigned char>(text[at]) & (size == 1 ? 0x7FU : 0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i)
    c = c << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  at += size;
  return c;
}

bool WordSplitter::next(std::string_view& word) {
  word_.clear();
  while (at_ < text_.size()) {
    const std::size_t before = at_;
    char32_t c = next_code_point(text_, at_);
    if (is_space(c)) {
      if (!word_.empty()) break;
      continue;
    }
    if (is_dropped(c)) continue;
    if (stands_alone(c)) {
      if (!word_.empty()) {
        at_ = before;
        break;
      }
      append(c, word_);
      break;
    }
    if (lower_case_) c = fold(c);
    if (c != 0) append(c, word_);
  }
  word = word_;
  return !word_.empty();
}

}  // namespace assay::train::data
