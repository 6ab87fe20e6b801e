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

/// The value at `t` on the line through the neighboring samples (`t` non-decreasing); outside, the
/// nearest sample's value. Nothing for an empty series.
[[nodiscard]] std::optional<double> value_at(std::span<const Sample> series, double t);

/// Integral by the trapezoid rule over [a, b], with the values at both edges interpolated and held
/// constant beyond the first and last sample. Samples with non-decreasing, finite t; one sample is
/// enough. Nothing for an empty series or b < a; 0 when a = b.
[[nodiscard]] std::optional<double> integrate(std::span<const Sample> series, double a, double b);

/// The part of [a, b] between the first and the last sample, in units of t.
[[nodiscard]] double covered(std::span<const Sample> series, double a, double b);

/// At most `limit` (≥ 4) samples in the same order that keep the first, the last, and the smallest
/// and largest value of every bucket, so that a chart still shows every spike.
[[nodiscard]] std::vector<Sample> thin(std::span<const Sample> series, std::size_t limit);

}  // namespace assay::stats
