#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace assay::stats {

struct Sample {
  double t = 0;
  double value = 0;
};

/// The value at `t`, linearly interpolated between the neighboring samples (`t` non-decreasing);
/// outside, the nearest sample's value. Nothing for an empty series.
[[nodiscard]] std::optional<double> value_at(std::span<const Sample> series, double t);

/// Integral by the trapezoid rule over [a, b]; values are interpolated at both edges and held
/// constant beyond the first and last sample. Samples need non-decreasing, finite t; one sample is
/// enough. Nothing for an empty series or b < a; 0 if a = b.
[[nodiscard]] std::optional<double> integrate(std::span<const Sample> series, double a, double b);

/// How much of [a, b] lies between the first and the last sample, in units of t.
[[nodiscard]] double covered(std::span<const Sample> series, double a, double b);

/// At most `limit` (≥ 4) samples in the same order, keeping the first, the last, and the smallest
/// and largest value of every bucket, so that a chart still shows every spike.
[[nodiscard]] std::vector<Sample> thin(std::span<const Sample> series, std::size_t limit);

}  // namespace assay::stats
