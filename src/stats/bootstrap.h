#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::stats {

/// The mean length of the blocks with which the stationary bootstrap estimates the variance of this
/// series' mean best, in values. By Politis and White (2004) as corrected with Patton (2009): from
/// the autocovariances up to twice the last lag whose correlation exceeds 2·√(log₁₀ n / n), under a
/// flat-top window; at least ∛n, because a short series hides a correlation that matters, and at
/// most min(3·√n, n/3). 1 for fewer than 4 values and for values that are all equal.
[[nodiscard]] double block_length(std::span<const double> values);

/// How far the mean of a series may lie from the level that it is an estimate of, relative to the
/// mean: `count` draws, reproducible by `seed`.
///
/// Each is the mean of a series of the same length that is put together from blocks of random place
/// and geometric length (stationary bootstrap of Politis and Romano, 1994, on a circle) with the
/// mean length of block_length(). Resampled means spread too little when there are few blocks, so
/// the distance is widened by √(n/(n-1)) and by the ratio of Student's quantile for n/length - 1
/// degrees of freedom to the normal one (97.5 %).
///
/// Positive, finite values. Empty for fewer than kMinResampled values or when one is not usable.
[[nodiscard]] std::vector<double> mean_errors(std::span<const double> values, std::size_t count,
                                              std::uint64_t seed);

inline constexpr std::size_t kMinResampled = 8;

/// At most `limit` values: the means of neighbors, of equally many but for one.
[[nodiscard]] std::vector<double> grouped(std::span<const double> values, std::size_t limit);

}  // namespace assay::stats
