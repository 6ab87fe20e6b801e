#include "perflog/progress.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "perflog/token.h"

namespace assay::perflog {
namespace {

using detail::kToken;

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r';
}

// Whether `c` may be part of a number or a literal.
bool is_plain(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
}

// Reads numbers as Parser does; nothing for the literals true and false. null is NaN, because the
// strict writer writes a non-finite loss that way.
std::optional<double> read_scalar(std::string_view word) noexcept {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const bool negative = word.starts_with('-');
  const std::string_view bare = negative ? word.substr(1) : word;
  if (bare == "NaN" || bare == "nan" || word == "null") return nan;
  if (bare == "Infinity" || bare == "inf") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return negative ? -infinity : infinity;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_whole(std::string_view word) noexcept {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc() && end == word.data() + word.size()) return value;
  const std::optional<double> number = read_scalar(word);
  if (!number || std::abs(*number) > 9e18 || *number != std::nearbyint(*number))
    return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace

void ProgressScanner::count_lines(const char* begin, const char* end) noexcept {
  // A tight loop that the compiler vectorizes; short blocks keep the counter in a byte.
  while (begin != end) {
    const char* const stop = begin + std::min<std::ptrdiff_t>(end - begin, 255);
    std::uint8_t count = 0;
    for (; begin != stop; ++begin) count = static_cast<std::uint8_t>(count + (*begin == '\n'));
    lines_ += count;
  }
}

// Skips text up to the end of a token, or to `end`.
const char* ProgressScanner::find_object(const char* p, const char* end) noexcept {
  while (matched_ != 0 && p != end) {
    if (*p == kToken[matched_]) {
      ++p;
      if (++matched_ == kToken.size()) {
        matched_ = 0;
        begin_event();
        return p;
      }
    } else {
      matched_ = 0;  // the token's first byte occurs in it only once
    }
  }
  if (p == end) return p;
  const char* const token = detail::find_token(p, end);
  if (token == end) {
    matched_ = static_cast<std::uint8_t>(detail::token_prefix_at_end(p, end));
    count_lines(p, end);
    return end;
  }
  count_lines(p, token);
  begin_event();
  return token + kToken.size();
}

void ProgressScanner::feed(std::string_view bytes) noexcept {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (p != end) {
    if (state_ == State::text) {
      p = find_object(p, end);
      continue;
    }
    // A line consists mostly of plain characters in strings and numbers; only the characters of
    // keys that may have a role, and of their values, go through the buffer.
    if ((state_ == State::in_key || state_ == State::in_string) && !escaped_) {
      const char* const begin = p;
      while (p != end && *p != '"' && *p != '\\' && *p != '\n') ++p;
      if (state_ == State::in_key ? depth_ == 1 || in_value_ : role_ == Role::event)
        append(begin, p);
    } else if (state_ == State::in_scalar) {
      const char* const begin = p;
      while (p != end && is_plain(*p)) ++p;
      if (role_ != Role::none) append(begin, p);
    } else if (*p == ' ' && state_ != State::in_string && state_ != State::in_key) {
      ++p;
    }
    if (p == end) break;
    const char c = *p++;
    if (c == '\n') {
      ++lines_;
      state_ = State::text;
      continue;
    }
    state_ = next(c);
    if (state_ == State::colon && p != end && *p == ':') {
      state_ = State::value;
      ++p;
    }
    // The character that made the line unreadable may itself begin a token.
    if (state_ == State::text && c == '[') matched_ = 1;
  }
}

void ProgressScanner::append(const char* begin, const char* end) noexcept {
  const std::size_t size = static_cast<std::size_t>(end - begin);
  if (length_ + size > buffer_.size()) {
    length_ = static_cast<std::uint8_t>(buffer_.size() + 1);
    return;
  }
  char* out = buffer_.data() + length_;
  for (; begin != end; ++begin) *out++ = *begin;
  length_ = static_cast<std::uint8_t>(length_ + size);
}

void ProgressScanner::begin_event() noexcept {
  state_ = State::before_object;
  kind_ = EventKind::unknown;
  escaped_ = false;
  in_value_ = false;
  step_source_ = Role::none;
  loss_source_ = Role::none;
  samples_source_ = Role::none;
  has_trial_ = false;
  has_accuracy_ = false;
  depth_ = 0;
  objects_ = 0;
}

ProgressScanner::State ProgressScanner::open(bool object) noexcept {
  if (depth_ == kMaxDepth) return State::text;
  if (depth_ == 1 && object) in_value_ = role_ == Role::value;
  const std::uint64_t bit = std::uint64_t{1} << depth_;
  objects_ = object ? objects_ | bit : objects_ & ~bit;
  ++depth_;
  return object ? State::key_or_end : State::value_or_end;
}

ProgressScanner::State ProgressScanner::close(bool object) noexcept {
  const bool inside_object = ((objects_ >> (depth_ - 1)) & 1U) != 0;
  if (object != inside_object) return State::text;
  if (--depth_ == 1) in_value_ = false;
  if (depth_ > 0) return State::after_value;
  end_event();
  return State::text;
}

ProgressScanner::State ProgressScanner::next(char c) noexcept {
  switch (state_) {
    case State::text:
      break;
    case State::before_object:
      if (is_space(c)) return state_;
      if (c == '{') return open(true);
      break;
    case State::key_or_end:
      if (c == '}') return close(true);
      [[fallthrough]];
    case State::key:
      if (is_space(c)) return state_;
      if (c != '"') break;
      length_ = 0;
      return State::in_key;
    case State::in_key:
      if (!escaped_ && c == '"') {
        end_key();
        return State::colon;
      }
      escaped_ = !escaped_ && c == '\\';
      push(c);
      return state_;
    case State::colon:
      if (is_space(c)) return state_;
      if (c == ':') return State::value;
      break;
    case State::value_or_end:
      if (c == ']') return close(false);
      [[fallthrough]];
    case State::value:
      if (is_space(c)) return state_;
      length_ = 0;
      if (c == '{' || c == '[') return open(c == '{');
      if (c == '"') return State::in_string;
      if (c == ',' || c == ':' || c == '}' || c == ']') break;
      push(c);
      return State::in_scalar;
    case State::in_string:
      if (!escaped_ && c == '"') {
        if (depth_ == 1 && role_ == Role::event) kind_ = event_kind(word());
        return State::after_value;
      }
      escaped_ = !escaped_ && c == '\\';
      push(c);
      return state_;
    case State::in_scalar:
      if (!is_space(c) && c != ',' && c != '}' && c != ']') {
        if (c == '{' || c == '[' || c == '"' || c == ':') break;
        push(c);
        return state_;
      }
      end_scalar();
      [[fallthrough]];
    case State::after_value:
      if (is_space(c)) return State::after_value;
      if (c == ',') return ((objects_ >> (depth_ - 1)) & 1U) != 0 ? State::key : State::value;
      if (c == '}' || c == ']') return close(c == '}');
      break;
  }
  return State::text;
}

void ProgressScanner::end_key() noexcept {
  const bool in_value = depth_ == 2 && in_value_;
  role_ = depth_ == 1 ? role_of(Place::top, word())
          : in_value  ? role_of(Place::value, word())
                      : Role::none;
  if (in_value && kind_ == EventKind::evaluate && role_ == Role::none &&
      word().find("acc") != std::string_view::npos)
    role_ = Role::accuracy;
}

void ProgressScanner::end_scalar() noexcept {
  if (depth_ != 1 && !(depth_ == 2 && in_value_)) return;
  if (is_step(role_)) {
    const auto step = role_ > step_source_ ? read_whole(word()) : std::nullopt;
    if (!step) return;
    step_ = *step;
    step_source_ = role_;
  } else if (role_ == Role::top_loss || role_ == Role::value_loss) {
    const auto loss = role_ > loss_source_ ? read_scalar(word()) : std::nullopt;
    if (!loss) return;
    loss_ = *loss;
    loss_source_ = role_;
  } else if (role_ == Role::samples || role_ == Role::global_samples) {
    const auto samples = role_ > samples_source_ ? read_scalar(word()) : std::nullopt;
    if (!samples || !std::isfinite(*samples) || *samples < 0) return;
    event_samples_ = *samples;
    samples_source_ = role_;
  } else if (role_ == Role::trial) {
    const std::optional<std::int64_t> trial = read_whole(word());
    if (!trial) return;
    trial_ = *trial;
    has_trial_ = true;
  } else if (role_ == Role::accuracy && !has_accuracy_) {
    const std::optional<double> accuracy = read_scalar(word());
    if (!accuracy || !std::isfinite(*accuracy)) return;
    accuracy_ = *accuracy;
    has_accuracy_ = true;
  }
}

void ProgressScanner::end_event() noexcept {
  ++events_;
  const bool step = kind_ == EventKind::step_begin || kind_ == EventKind::step_end;
  if (step && step_source_ != Role::none) last_step_ = step_;
  if (step) in_step_ = kind_ == EventKind::step_begin;
  if (kind_ == EventKind::epoch_end) ++epochs_;
  if (kind_ == EventKind::evaluate && has_accuracy_) {
    last_accuracy_ = accuracy_;
    best_accuracy_ = std::max(best_accuracy_.value_or(accuracy_), accuracy_);
  }
  if (kind_ != EventKind::step_end) return;
  ++steps_;
  if (loss_source_ != Role::none) last_loss_ = loss_;
  if (samples_source_ != Role::none) samples_ = samples_.value_or(0) + event_samples_;
  if (has_trial_ && (trials_ == 0 || trial_ != last_trial_)) {
    ++trials_;
    last_trial_ = trial_;
  }
}

}  // namespace assay::perflog
