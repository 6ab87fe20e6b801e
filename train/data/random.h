#pragma once

#include <cstdint>

namespace assay::train::data {

/// A bijection of 64-bit numbers whose output bits all depend on all input bits.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ULL;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// A small generator (SplitMix64) with the same sequence on every machine; created for every sample
/// from the sample's keys.
class Random {
 public:
  template <class... Keys>
  explicit constexpr Random(std::uint64_t first, Keys... others) noexcept : state_(mix(first)) {
    ((state_ = mix((state_ + gamma) ^ mix(static_cast<std::uint64_t>(others) + gamma))), ...);
  }

  [[nodiscard]] constexpr std::uint64_t bits() noexcept { return mix(state_ += gamma); }
  /// 0…n-1, n > 0. The bias is below n/2^64.
  [[nodiscard]] constexpr std::int64_t below(std::int64_t n) noexcept {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::int64_t>((Wide{bits()} * static_cast<std::uint64_t>(n)) >> 64);
  }
  /// [0, 1)
  [[nodiscard]] constexpr double uniform() noexcept {
    return static_cast<double>(bits() >> 11) * 0x1p-53;
  }
  [[nodiscard]] constexpr double uniform(double low, double high) noexcept {
    return low + (high - low) * uniform();
  }

 private:
  static constexpr std::uint64_t gamma = 0x9E3779B97F4A7C15ULL;
  std::uint64_t state_;
};

/// A random order of 0…n-1 in constant memory with random access: a Feistel network over the next
/// even number of bits, applied until the result is in range.
class Permutation {
 public:
  /// n ≥ 1
  Permutation(std::int64_t n, std::uint64_t key) noexcept : n_(static_cast<std::uint64_t>(n)) {
    while (half_ < 32 && (std::uint64_t{1} << (2 * half_)) < n_) ++half_;
    low_ = (std::uint64_t{1} << half_) - 1;
    for (std::uint64_t i = 0; i < rounds; ++i) keys_[i] = mix(mix(key + i + 1) + key);
  }

  [[nodiscard]] std::int64_t operator()(std::int64_t position) const noexcept {
    auto x = static_cast<std::uint64_t>(position);
    do {
      std::uint64_t left = x >> half_;
      std::uint64_t right = x & low_;
      for (const std::uint64_t key : keys_) {
        const std::uint64_t next = left ^ (mix(right ^ key) & low_);
        left = right;
        right = next;
      }
      x = (left << half_) | right;
    } while (x >= n_);
    return static_cast<std::int64_t>(x);
  }

 private:
  static constexpr int rounds = 6;
  std::uint64_t n_;
  unsigned half_ = 4;  // smaller networks are visibly uneven
  std::uint64_t low_ = 0;
  std::uint64_t keys_[rounds] = {};
};

}  // namespace assay::train::data
