#pragma once

#include <cstdint>

namespace assay::automl {

/// A bijection of 64-bit words that spreads every bit (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t scramble(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Depends on the order of its arguments.
[[nodiscard]] constexpr std::uint64_t combine(std::uint64_t seed, std::uint64_t value) noexcept {
  return scramble(seed ^ scramble(value));
}

}  // namespace assay::automl
