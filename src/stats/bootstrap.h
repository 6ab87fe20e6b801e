#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::stats {

/// The mean block length, in values, with which the stationary bootstrap best estimates the
/// variance of this series' mean. Computed as in Politis and White (2004), corrected with Patton
/// (2009), from the autocovariances up to twice the last lag whose correlation exceeds 2·√(log₁₀ n
/// / n), under a flat-top window; at least ∛n, because a short series hides a relevant correlation,
/// and at most min(3·√n, n/3). 1 for fewer than 4 values and for equal values.
[[nodiscard]] double block_length(std::span<const double> values);

/// How far a series' mean may lie from the level that it estimates, relative to the mean: `count`
/// draws, reproducible by `seed`.
///
/// Each draw is the mean of a series of the same length, made of blocks of random position and
/// geometric length (stationary bootstrap of Politis and Romano, 1994, on a circle) with the mean
/// length of block_length(). Resampled means vary too little with few blocks, so the distance is
/// widened by √(n/(n-1)) and by the ratio of Student's quantile for n/length - 1 degrees of freedom
/// to the normal one (97.5 %).
///
/// Positive, finite values. Empty for fewer than kMinResampled or unusable values.
[[nodiscard]] std::vector<double> mean_errors(std::span<const double> values, std::size_t count,
                                              std::uint64_t seed);

inline constexpr std::size_t kMinResampled = 8;

/// At most `limit` values: means of groups of neighbors whose sizes differ by at most one.
[[nodiscard]] std::vector<double> grouped(std::span<const double> values, std::size_t limit);

}  // namespace assay::stats
