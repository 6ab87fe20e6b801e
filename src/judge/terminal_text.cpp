#include "judge/terminal_text.h"

#include <algorithm>

namespace assay::judge {

namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kMaxSequence = 4096;  // limits what an unterminated title can hide

constexpr bool shown(char c) noexcept {
  return c != '\r' && c != '\b' && c != '\0' && c != '\n' && c != kEscape;
}

}  // namespace

bool TerminalText::plain(std::string_view bytes) noexcept {
  // Has no early exit, so that the compiler vectorizes it.
  bool special = false;
  for (const char c : bytes)
    special |= (c == '\r') | (c == '\b') | (c == '\0') | (c == '\n') | (c == kEscape);
  return !special;
}

void TerminalText::reset() noexcept {
  state_ = State::text;
}

TerminalText::Item TerminalText::take(std::string_view& bytes) {
  if (state_ != State::text) return take_sequence(bytes);
  const char c = bytes.front();
  if (shown(c)) {
    const auto end = std::ranges::find_if_not(bytes, shown);
    const std::string_view text = bytes.substr(0, static_cast<std::size_t>(end - bytes.begin()));
    bytes.remove_prefix(text.size());
    return {Kind::text, text};
  }
  if (c == '\b') {
    const std::size_t count = std::min(bytes.find_first_not_of('\b'), bytes.size());
    bytes.remove_prefix(count);
    return {Kind::back, {}, count};
  }
  bytes.remove_prefix(1);
  if (c != kEscape) return {Kind::newline};
  state_ = State::escape;
  length_ = 0;
  return {};
}

TerminalText::Item TerminalText::take_sequence(std::string_view& bytes) {
  const char c = bytes.front();
  // Terminals obey carriage returns and the like even within a sequence; here they end it.
  if (!shown(c) && !(state_ == State::string && c == kEscape)) {
    state_ = State::text;
    return take(bytes);
  }
  bytes.remove_prefix(1);
  if (++length_ > kMaxSequence) {
    state_ = State::text;
    return {};
  }
  switch (state_) {
    case State::escape:
      number_ = 0;
      first_ = true;
      if (c == '[')
        state_ = State::csi;
      else if (c == ']' || c == 'P' || c == '^' || c == '_' || c == 'X')
        state_ = State::string;
      else if (c >= ' ' && c <= '/')
        state_ = State::charset;
      else
        state_ = State::text;
      // Next line, reverse line feed, index, full reset.
      if (c == 'E' || c == 'M' || c == 'D' || c == 'c') return {Kind::newline};
      return {};
    case State::csi:
      if (c >= '@' && c <= '~') return end_csi(c);
      if (c >= '0' && c <= '9' && first_)
        number_ = std::min<std::size_t>(number_ * 10 + static_cast<std::size_t>(c - '0'), 1 << 16);
      else
        first_ = false;
      return {};
    case State::string:
      if (c == '\a') state_ = State::text;
      if (c == kEscape) state_ = State::string_escape;
      return {};
    case State::string_escape:
    case State::charset:
    case State::text:
      break;
  }
  state_ = State::text;
  return {};
}

TerminalText::Item TerminalText::end_csi(char final) {
  state_ = State::text;
  if (final == 'D') return {Kind::back, {}, std::max<std::size_t>(number_, 1)};
  // Up, down, next and previous line, column, position, erase the display, line, scroll.
  static constexpr std::string_view kMoves = "ABEFGHJ`dfST";
  return kMoves.find(final) == std::string_view::npos ? Item{} : Item{Kind::newline};
}

}  // namespace assay::judge
