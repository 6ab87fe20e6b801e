#pragma once

#include <cstring>
#include <string_view>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace assay::perflog::detail {

inline constexpr std::string_view kToken = "[PerfLog]";

/// The first kToken in [begin, end), or `end`.
inline const char* find_token(const char* begin, const char* end) noexcept {
  constexpr std::ptrdiff_t size = static_cast<std::ptrdiff_t>(kToken.size());
  const char* p = begin;
#if defined(__SSE2__)
  // Searches for two bytes at once: brackets are frequent in logs, "[P" is not.
  const __m128i first = _mm_set1_epi8('[');
  const __m128i second = _mm_set1_epi8('P');
  while (end - p > 16) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 1));
    const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(a, first), _mm_cmpeq_epi8(b, second));
    unsigned mask = static_cast<unsigned>(_mm_movemask_epi8(both));
    while (mask != 0) {
      const char* candidate = p + __builtin_ctz(mask);
      if (end - candidate >= size && std::memcmp(candidate, kToken.data(), kToken.size()) == 0)
        return candidate;
      mask &= mask - 1;
    }
    p += 16;
  }
#endif
  while (end - p >= size) {
    p = static_cast<const char*>(std::memchr(p, '[', static_cast<std::size_t>(end - p)));
    if (p == nullptr || end - p < size) return end;
    if (std::memcmp(p, kToken.data(), kToken.size()) == 0) return p;
    ++p;
  }
  return end;
}

/// Length of the longest proper prefix of kToken at the end of [begin, end).
inline std::size_t token_prefix_at_end(const char* begin, const char* end) noexcept {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  for (std::size_t n = kToken.size() - 1; n > 0; --n)
    if (text.ends_with(kToken.substr(0, n))) return n;
  return 0;
}

}  // namespace assay::perflog::detail
