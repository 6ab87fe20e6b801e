#include "perflog/line_scanner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>

#include "core/utf8.h"
#include "perflog/number.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace assay::perflog::detail {
namespace {

constexpr std::size_t kMaxNonfinite = 64;

// The closing quote of the string whose first character is at `p`, or nullptr.
inline const char* string_end(const char* p, const char* limit, bool& escaped) noexcept {
  for (;;) {
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i newline = _mm_set1_epi8('\n');
    while (limit - p >= 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      const __m128i hit =
          _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                       _mm_cmpeq_epi8(bytes, newline));
      const int mask = _mm_movemask_epi8(hit);
      if (mask != 0) {
        p += __builtin_ctz(static_cast<unsigned>(mask));
        break;
      }
      p += 16;
    }
#endif
    while (*p != '"' && *p != '\\' && *p != '\n') ++p;
    if (*p == '"') return p;
    if (*p == '\n') return nullptr;
    escaped = true;
    ++p;
    if (*p == '\n') return nullptr;
    ++p;
  }
}

int hex(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The code unit of the "\uXXXX" at `at`.
std::optional<std::uint32_t> code_unit(std::string_view text, std::size_t at) noexcept {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  for (std::size_t i = at + 2; i < at + 6; ++i) {
    const int digit = hex(text[i]);
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

}  // namespace

void KeyArena::clear() noexcept {
  block_ = 0;
  used_ = 0;
}

char* KeyArena::allocate(std::size_t size) {
  if (size > kBlock) return nullptr;
  if (used_ + size > kBlock) {
    ++block_;
    used_ = 0;
  }
  if (block_ >= kMaxBlocks) return nullptr;
  if (block_ >= blocks_.size()) blocks_.push_back(std::make_unique<char[]>(kBlock));
  char* out = blocks_[block_].get() + used_;
  used_ += size;
  return out;
}

const char* LineScanner::scan(const char* at, const char* limit, Event& event) {
  if (const char* const end = shapes_.replay(at, limit, event)) return end;
  const char* const end = scan_fresh(at, limit, event);
  if (end != nullptr) shapes_.record(at, end, limit, event, slots_);
  return end;
}

const char* LineScanner::scan_fresh(const char* at, const char* limit, Event& event) {
  begin_ = at;
  p_ = at;
  limit_ = limit;
  event_ = &event;
  event = Event{};
  count_ = 0;
  value_begin_ = 0;
  nonfinite_ = nullptr;
  stamps_ = Stamps{};
  slots_.clear();
  arena_.clear();
  skip_spaces();
  if (*p_ != '{') return nullptr;
  ++p_;
  if (!object(Place::top, {})) return nullptr;
  const char* const end = p_;
  if (nonfinite_ != nullptr) restore_nonfinite();
  event.kind = event_kind(event.name);
  event.fields = {fields_.data(), count_};
  return end;
}

inline void LineScanner::skip_spaces() noexcept {
  while (*p_ == ' ' || *p_ == '\t' || *p_ == '\r') ++p_;
}

inline bool LineScanner::string(Text& out) {
  const char* const begin = ++p_;
  out.escaped = false;
  const char* const end = string_end(begin, limit_, out.escaped);
  if (end == nullptr) return false;
  out.raw = {begin, static_cast<std::size_t>(end - begin)};
  p_ = end + 1;
  return true;
}

bool LineScanner::object(Place place, std::string_view outer) {
  skip_spaces();
  if (*p_ == '}') {
    ++p_;
    return true;
  }
  for (;;) {
    if (*p_ != '"') return false;
    Text key;
    if (!string(key)) return false;
    skip_spaces();
    if (*p_ != ':') return false;
    ++p_;
    skip_spaces();
    if (!member(place, outer, key.escaped ? unescape(key.raw) : key.raw)) return false;
    skip_spaces();
    if (*p_ == ',') {
      ++p_;
      skip_spaces();
      continue;
    }
    if (*p_ != '}') return false;
    ++p_;
    return true;
  }
}

bool LineScanner::member(Place place, std::string_view outer, std::string_view key) {
  switch (*p_) {
    case '"': {
      Text text;
      if (!string(text)) return false;
      if (place == Place::top && key == "event")
        event_->name = text.escaped ? unescape(text.raw) : text.raw;
      else
        add(place, outer, key, Field::Type::text, 0, text.raw);
      return true;
    }
    case '{':
      if (place == Place::top || place == Place::value) {
        ++p_;
        if (place == Place::value) return object(Place::nested, key);
        if (key == "metadata") return object(Place::metadata, {});
        if (key != "value") return object(Place::nested, key);
        value_begin_ = count_;
        return object(Place::value, {});
      }
      return skip_container();
    case '[':
      if (place == Place::value && key == "nonfinite") nonfinite_ = p_;
      return skip_container();
    case 't':
      if (!skip_word(p_, "true")) return false;
      add(place, outer, key, Field::Type::boolean, 1, {});
      return true;
    case 'f':
      if (!skip_word(p_, "false")) return false;
      add(place, outer, key, Field::Type::boolean, 0, {});
      return true;
    case 'n':
      if (skip_word(p_, "null")) {
        add(place, outer, key, Field::Type::null, 0, {});
        return true;
      }
      break;
    default:
      break;
  }
  return number(place, outer, key);
}

inline bool LineScanner::number(Place place, std::string_view outer, std::string_view key) {
  const char* const begin = p_;
  Number number;
  const char* const end = read_number(begin, limit_, number);
  if (end == nullptr) return false;
  p_ = end;
  const Role role = role_of(place, key);
  stamps_.apply(role, number, *event_);
  const std::size_t index = count_;
  add(place, outer, key, Field::Type::number, number.value, {});
  const bool listed = count_ != index;
  if (listed || role != Role::none)
    slots_.push_back({static_cast<std::uint32_t>(begin - begin_),
                      static_cast<std::uint32_t>(p_ - begin_),
                      listed ? static_cast<std::int32_t>(index) : -1, role});
  return true;
}

inline void LineScanner::add(Place place, std::string_view outer, std::string_view key,
                             Field::Type type, double number, std::string_view text) {
  if (place == Place::metadata) return;
  if (place == Place::nested) {
    const std::size_t size = outer.size() + 1 + key.size();
    char* const joined = arena_.allocate(size);
    if (joined == nullptr) return;
    std::memcpy(joined, outer.data(), outer.size());
    joined[outer.size()] = '.';
    std::memcpy(joined + outer.size() + 1, key.data(), key.size());
    key = {joined, size};
  }
  if (count_ == fields_.size()) fields_.resize(std::max<std::size_t>(32, 2 * count_));
  fields_[count_++] = Field{key, type, number, text};
}

bool LineScanner::skip_scalar() {
  switch (*p_) {
    case '"': {
      Text text;
      return string(text);
    }
    case 't':
      return skip_word(p_, "true");
    case 'f':
      return skip_word(p_, "false");
    case 'n':
      if (skip_word(p_, "null")) return true;
      break;
    default:
      break;
  }
  Number value;
  const char* const end = read_number(p_, limit_, value);
  if (end != nullptr) p_ = end;
  return end != nullptr;
}

bool LineScanner::skip_container() {
  std::array<bool, kMaxDepth> in_object;
  std::size_t depth = 0;
  bool key_next = false;
  for (;;) {
    if (key_next) {
      Text key;
      if (*p_ != '"' || !string(key)) return false;
      skip_spaces();
      if (*p_ != ':') return false;
      ++p_;
      skip_spaces();
    }
    if (*p_ == '{' || *p_ == '[') {
      if (depth == kMaxDepth) return false;
      const bool object = *p_ == '{';
      in_object[depth++] = object;
      ++p_;
      skip_spaces();
      if (*p_ != (object ? '}' : ']')) {
        key_next = object;
        continue;
      }
    } else if (!skip_scalar()) {
      return false;
    } else {
      skip_spaces();
    }
    // Follows a value, or stands at the bracket that closes an empty container.
    while (*p_ == (in_object[depth - 1] ? '}' : ']')) {
      ++p_;
      if (--depth == 0) return true;
      skip_spaces();
    }
    if (*p_ != ',') return false;
    ++p_;
    skip_spaces();
    key_next = in_object[depth - 1];
  }
}

// JSON has no NaN: the strict writer writes null and lists the names.
void LineScanner::restore_nonfinite() {
  p_ = nonfinite_ + 1;
  for (std::size_t names = 0; names < kMaxNonfinite; ++names) {
    skip_spaces();
    Text name;
    if (*p_ != '"' || !string(name)) return;
    const std::string_view key = name.escaped ? unescape(name.raw) : name.raw;
    for (std::size_t i = value_begin_; i < count_; ++i)
      if (fields_[i].type == Field::Type::null && fields_[i].key == key) {
        fields_[i].type = Field::Type::number;
        fields_[i].number = std::numeric_limits<double>::quiet_NaN();
      }
    skip_spaces();
    if (*p_ != ',') return;
    ++p_;
  }
}

std::string_view LineScanner::unescape(std::string_view raw) {
  char* const out = arena_.allocate(raw.size());  // never grows: "\uXXXX" is at most 3 bytes
  if (out == nullptr) return raw;
  std::size_t size = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      out[size++] = raw[i];
      continue;
    }
    if (std::optional<std::uint32_t> unit = code_unit(raw, i)) {
      i += 5;
      if (*unit >= 0xD800 && *unit < 0xDC00) {
        const std::optional<std::uint32_t> low = code_unit(raw, i + 1);
        if (low && *low >= 0xDC00 && *low < 0xE000) {
          unit = 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
          i += 6;
        }
      }
      if (*unit >= 0xD800 && *unit < 0xE000) unit = 0xFFFD;
      size += put_utf8(out + size, *unit);
      continue;
    }
    const char c = raw[++i];
    constexpr std::string_view letters = "bfnrt";
    constexpr std::string_view controls = "\b\f\n\r\t";
    const std::size_t at = letters.find(c);
    out[size++] = at == std::string_view::npos ? c : controls[at];
  }
  return {out, size};
}

}  // namespace assay::perflog::detail
