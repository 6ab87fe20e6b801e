#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "automl/hash.h"

namespace assay::automl {

/// Pseudo-random numbers that are the same for a seed with every compiler and standard library
/// (SplitMix64). Not for several threads at once.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  /// An independent stream: what is drawn from it does not depend on what was drawn before.
  Random(std::uint64_t seed, std::uint64_t stream) noexcept : state_(combine(seed, stream)) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    const std::uint64_t value = scramble(state_);
    state_ += 0x9e3779b97f4a7c15U;
    return value;
  }
  /// In [0, 1).
  [[nodiscard]] double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
  /// In [0, n); n ≥ 1. The bias is below n / 2^64.
  [[nodiscard]] std::size_t below(std::size_t n) noexcept { return next() % n; }
  [[nodiscard]] double normal() noexcept {
    const double u = 1 - uniform();
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace assay::automl
