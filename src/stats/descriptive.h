#pragma once

#include <optional>
#include <span>
#include <vector>

namespace assay::stats {

// Every function expects finite values and returns nothing (never NaN) if there are too few of
// them, if one is not finite, or if the result would not be finite.

/// Percentile by linear interpolation between order statistics (Hyndman-Fan type 7, the default of
/// R and NumPy): for n sorted values x[0..n-1] and h = (n-1)·p/100, it is x[⌊h⌋] +
/// (h-⌊h⌋)·(x[⌊h⌋+1]-x[⌊h⌋]). `p` is in [0, 100]; n ≥ 1. O(n), on a copy.
[[nodiscard]] std::optional<double> percentile(std::span<const double> values, double p);

/// Several percentiles of the same values, sorted once; empty if percentile() returns nothing.
[[nodiscard]] std::vector<double> percentiles(std::vector<double> values,
                                              std::span<const double> ps);

[[nodiscard]] std::optional<double> median(std::span<const double> values);  ///< n ≥ 1
[[nodiscard]] std::optional<double> mean(std::span<const double> values);    ///< n ≥ 1
/// Sample standard deviation (n-1 in the denominator); n ≥ 2.
[[nodiscard]] std::optional<double> stddev(std::span<const double> values);
/// Coefficient of variation, stddev / |mean|; n ≥ 2, mean not 0.
[[nodiscard]] std::optional<double> cv(std::span<const double> values);
/// Mean without the smallest and the largest value; n ≥ 3.
[[nodiscard]] std::optional<double> olympic_mean(std::span<const double> values);

}  // namespace assay::stats
