#pragma once

#include <cmath>
#include <numbers>

namespace assay::stats {

/// P(Z ≤ z) of the standard normal distribution.
[[nodiscard]] inline double normal_cdf(double z) noexcept {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

}  // namespace assay::stats
