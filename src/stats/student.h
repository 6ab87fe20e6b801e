#pragma once

#include <optional>
#include <span>

namespace assay::stats {

/// The t with P(T ≤ t) = p for Student's t with `df` > 0 degrees of freedom and 0 < p < 1; accurate
/// to about 1e-14 relative (Boost.Math).
[[nodiscard]] std::optional<double> student_t_quantile(double p, double df);

/// P(T > t) for Student's t with `df` > 0 degrees of freedom; 0 for an infinite t, 1 where
/// undefined.
[[nodiscard]] double student_t_tail(double t, double df);

struct Interval {
  double low = 0;
  double high = 0;
};

/// Two-sided confidence interval of the mean of normal values with unknown variance: mean ±
/// t(1-(1-level)/2, n-1)·s/√n. n ≥ 2, 0 < level < 1.
[[nodiscard]] std::optional<Interval> mean_interval(std::span<const double> values,
                                                    double level = 0.95);

}  // namespace assay::stats
