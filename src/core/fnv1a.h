#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

namespace assay {

/// The hash of nothing.
template <std::unsigned_integral T>
inline constexpr T kFnvBasis = sizeof(T) == 8 ? static_cast<T>(0xcbf29ce484222325U) : 0x811c9dc5U;

/// FNV-1a of 64 or 32 bits, which is the same in every build and on every machine, unlike
/// std::hash. It tells names and copies apart, but does not detect forgeries. `hash` is that of the
/// text before.
template <std::unsigned_integral T = std::uint64_t>
[[nodiscard]] constexpr T fnv1a(std::string_view text, T hash = kFnvBasis<T>) noexcept {
  static_assert(sizeof(T) == 8 || sizeof(T) == 4);
  constexpr T kPrime = sizeof(T) == 8 ? static_cast<T>(0x100000001b3U) : 0x01000193U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash;
}

}  // namespace assay
