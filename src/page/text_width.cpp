#include "page/text_width.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace assay::page {

namespace {

struct Glyph {
  std::string_view bytes;
  std::size_t columns;
};

// Blocks that terminals draw two columns wide.
constexpr std::array<std::pair<char32_t, char32_t>, 13> kWide{{{0x1100, 0x115F},
                                                               {0x2E80, 0x303E},
                                                               {0x3041, 0x33FF},
                                                               {0x3400, 0x4DBF},
                                                               {0x4E00, 0x9FFF},
                                                               {0xA000, 0xA4CF},
                                                               {0xAC00, 0xD7A3},
                                                               {0xF900, 0xFAFF},
                                                               {0xFE30, 0xFE6F},
                                                               {0xFF00, 0xFF60},
                                                               {0xFFE0, 0xFFE6},
                                                               {0x1F300, 0x1FAFF},
                                                               {0x20000, 0x3FFFD}}};
constexpr std::array<std::pair<char32_t, char32_t>, 6> kZero{{{0x0300, 0x036F},
                                                              {0x1AB0, 0x1AFF},
                                                              {0x200B, 0x200F},
                                                              {0x20D0, 0x20FF},
                                                              {0xFE00, 0xFE0F},
                                                              {0xFE20, 0xFE2F}}};

template <std::size_t N>
bool within(char32_t code, const std::array<std::pair<char32_t, char32_t>, N>& ranges) {
  return std::ranges::any_of(
      ranges, [&](const auto& range) { return code >= range.first && code <= range.second; });
}

// The character at the start of `text`, which is not empty and already printable.
Glyph next(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::string_view bytes = text.substr(0, std::min(length, text.size()));
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (const char c : bytes.substr(1)) code = (code << 6) | (static_cast<unsigned char>(c) & 0x3F);
  if (code == '\n' || code == '\t') return {bytes, 1};
  return {bytes, within(code, kZero) ? 0U : within(code, kWide) ? 2U : 1U};
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Glyph glyph = next(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes.size());
  }
  return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t marked = columns_of(mark);
  if (columns <= marked) return std::string(mark.substr(0, columns));
  std::string out;
  std::size_t used = 0;
  while (!text.empty()) {
    const Glyph glyph = next(text);
    if (used + glyph.columns > columns - marked) break;
    out += glyph.bytes;
    used += glyph.columns;
    text.remove_prefix(glyph.bytes.size());
  }
  return out.append(mark);
}

std::string cut_middle(std::string_view text, std::size_t columns, std::string_view mark) {
  const std::size_t total = columns_of(text);
  if (total <= columns) return std::string(text);
  const std::size_t marked = columns_of(mark);
  if (columns < marked + 6) return cut_to(text, columns, mark);
  const std::size_t tail = (columns - marked) / 3;
  std::string out = cut_to(text, columns - tail, mark);
  std::size_t skipped = 0;
  while (!text.empty() && skipped < total - tail) {
    const Glyph glyph = next(text);
    skipped += glyph.columns;
    text.remove_prefix(glyph.bytes.size());
  }
  return out.append(text);
}

std::string pad_right(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(text) + std::string(columns > used ? columns - used : 0, ' ');
}

std::string pad_left(std::string_view text, std::size_t columns) {
  const std::size_t used = columns_of(text);
  return std::string(columns > used ? columns - used : 0, ' ') + std::string(text);
}

namespace {

// Characters that cannot begin a line.
constexpr std::array<std::string_view, 14> kClosing{"，", "。", "、", "；", "：", "？", "！",
                                                    "）", "」", "》", "】", "”",  "’",  "…"};

// Characters that cannot end a line.
constexpr std::array<std::string_view, 6> kOpening{"（", "「", "《", "【", "“", "‘"};

bool is_one_of(std::span<const std::string_view> signs, std::string_view glyph) {
  return std::ranges::find(signs, glyph) != signs.end();
}

bool ends_with_digit(std::string_view text) {
  return !text.empty() && text.back() >= '0' && text.back() <= '9';
}

// The unbreakable part at the start of `text`, which does not start with a blank: a word, or a wide
// character with opening signs before and closing signs after it. A number has its "%".
std::string_view unbroken(std::string_view text) {
  std::size_t size = 0;
  bool wide = false;
  bool opened = false;
  while (size < text.size()) {
    if (ends_with_digit(text.substr(0, size)) && text.substr(size).starts_with(" %")) size += 1;
    if (text[size] == ' ' || text[size] == '\t' || text[size] == '\n') break;
    const Glyph glyph = next(text.substr(size));
    const bool closes = is_one_of(kClosing, glyph.bytes);
    if (size > 0 && !closes && !opened && (wide || glyph.columns == 2)) break;
    opened = is_one_of(kOpening, glyph.bytes);
    wide = wide || (glyph.columns == 2 && !opened);
    size += glyph.bytes.size();
  }
  return text.substr(0, size);
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 1);
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  bool blank = false;
  const auto break_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  while (!text.empty()) {
    if (text[0] == '\n') {
      break_line();
      text.remove_prefix(1);
      continue;
    }
    if (text[0] == ' ' || text[0] == '\t') {
      blank = true;
      text.remove_prefix(1);
      continue;
    }
    const std::string_view word = unbroken(text);
    text.remove_prefix(word.size());
    const std::size_t width = columns_of(word);
    const std::size_t gap = blank ? 1 : 0;
    blank = false;
    if (used > 0 && used + gap + width > columns) break_line();
    if (used > 0 && gap > 0) {
      lines.back() += ' ';
      ++used;
    }
    for (std::string_view rest = word; !rest.empty();) {
      const Glyph glyph = next(rest);
      if (used > 0 && used + glyph.columns > columns) break_line();
      lines.back() += glyph.bytes;
      used += glyph.columns;
      rest.remove_prefix(glyph.bytes.size());
    }
  }
  return lines;
}

}  // namespace assay::page
