#include "perflog/shape_cache.h"

#include <cstring>
#include <functional>
#include <optional>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace assay::perflog::detail {
namespace {

constexpr std::size_t kPadding = 16;
constexpr std::size_t kMaxText = 4096;
// A shape that was replaced kPatience times without a match is neither tried nor replaced for the
// following lines, until kImpatience.
constexpr int kPatience = 4;
constexpr int kImpatience = -64;
// After ` {"event": "`, where names differ.
constexpr std::ptrdiff_t kNameAt = 12;

std::optional<std::int64_t> to_integer(const Number& number) noexcept {
  if (number.is_integer) return number.integer;
  constexpr double limit = 9223372036854775808.0;
  if (!(number.value >= -limit && number.value < limit)) return std::nullopt;
  return static_cast<std::int64_t>(number.value);
}

// Whether `size` bytes at `a` (padded by kPadding) and at `b` (readable up to `limit`) agree.
inline bool same(const char* a, const char* b, std::size_t size, const char* limit) noexcept {
  const std::size_t readable = static_cast<std::size_t>(limit - b);
#if defined(__SSE2__)
  const std::size_t rounded = (size + kPadding - 1) & ~(kPadding - 1);
  if (rounded <= readable) {
    for (std::size_t i = 0; i < size; i += kPadding) {
      const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i));
      const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i));
      const unsigned differ =
          static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y))) ^ 0xFFFFU;
      const std::size_t left = size - i;
      const unsigned relevant = left >= kPadding ? 0xFFFFU : (1U << left) - 1;
      if ((differ & relevant) != 0) return false;
    }
    return true;
  }
#endif
  return size <= readable && std::memcmp(a, b, size) == 0;
}

}  // namespace

void Stamps::apply(Role role, const Number& number, Event& event) noexcept {
  if (role == Role::mono) {
    if (const auto value = to_integer(number)) event.mono_us = *value;
  } else if (role == Role::top_time || role == Role::metadata_time) {
    if (role < time_) return;
    if (const auto value = to_integer(number)) {
      event.time_ms = *value;
      time_ = role;
    }
  } else if (is_step(role)) {
    if (role <= step_) return;
    if (!number.is_integer && number.value != std::nearbyint(number.value)) return;
    if (const auto value = to_integer(number)) {
      event.step = *value;
      step_ = role;
    }
  }
}

std::size_t ShapeCache::index(const char* at, const char* limit) noexcept {
  if (limit - at < kNameAt + 8) return 0;
  std::uint64_t name;
  std::memcpy(&name, at + kNameAt, sizeof name);
  return static_cast<std::size_t>((name * 0x9E3779B97F4A7C15U) >> 60);
}

const char* ShapeCache::replay(const char* at, const char* limit, Event& event) {
  Shape& shape = shapes_[index(at, limit)];
  if (shape.size == 0 || shape.patience < 0) return nullptr;
  event = shape.event;
  Stamps stamps;
  const char* const text = shape.text.data();
  Field* const fields = shape.fields.data();
  std::size_t done = 0;
  const char* p = at;
  for (const Slot& slot : shape.slots) {
    const std::size_t length = slot.begin - done;
    if (!same(text + done, p, length, limit)) return nullptr;
    p += length;
    Number number;
    p = read_number(p, limit, number);
    if (p == nullptr) return nullptr;
    if (slot.field >= 0) fields[slot.field].number = number.value;
    if (slot.role != Role::none) stamps.apply(slot.role, number, event);
    done = slot.end;
  }
  const std::size_t rest = shape.size - done;
  if (!same(text + done, p, rest, limit)) return nullptr;
  shape.patience = kPatience;
  return p + rest;
}

void ShapeCache::record(const char* at, const char* end, const char* limit, const Event& event,
                        const std::vector<Slot>& slots) {
  Shape& shape = shapes_[index(at, limit)];
  if (shape.size == 0) {
    shape.patience = kPatience;
  } else if (--shape.patience < 0) {
    if (shape.patience > kImpatience) return;
    shape.patience = 0;  // one more try
  }
  const std::size_t size = static_cast<std::size_t>(end - at);
  if (size > kMaxText) return;
  const std::less_equal<const char*> before;
  const auto inside = [&](std::string_view view) {
    return view.empty() || (before(at, view.data()) && before(view.data() + view.size(), end));
  };
  if (!inside(event.name)) return;
  for (const Field& field : event.fields)
    if (!inside(field.key) || !inside(field.text)) return;

  shape.size = 0;
  shape.text.assign(at, size);
  shape.text.append(kPadding, '\0');
  shape.slots = slots;
  shape.fields.assign(event.fields.begin(), event.fields.end());
  const auto rebase = [&](std::string_view view) {
    return view.empty() ? std::string_view()
                        : std::string_view(shape.text.data() + (view.data() - at), view.size());
  };
  for (Field& field : shape.fields) {
    field.key = rebase(field.key);
    field.text = rebase(field.text);
  }
  shape.event = event;
  shape.event.name = rebase(event.name);
  shape.event.fields = shape.fields;
  // Each line fills in the slots again.
  shape.event.time_ms = Event::kMissing;
  shape.event.mono_us = Event::kMissing;
  shape.event.step = Event::kMissing;
  shape.size = size;
}

}  // namespace assay::perflog::detail
