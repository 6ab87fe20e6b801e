#pragma once

#include <optional>
#include <span>

namespace assay::stats {

/// Regularised incomplete beta function I_x(a, b); a, b > 0, x in [0, 1]. Relative error about
/// 1e-14.
[[nodiscard]] std::optional<double> incomplete_beta(double a, double b, double x);

/// P(T ≤ t) for Student's t with `df` > 0 degrees of freedom.
[[nodiscard]] std::optional<double> student_t_cdf(double t, double df);

/// The t with P(T ≤ t) = p, for 0 < p < 1 and df > 0; exact to about 1e-12 relative.
[[nodiscard]] std::optional<double> student_t_quantile(double p, double df);

/// P(Z ≤ z) of the standard normal distribution.
[[nodiscard]] double normal_cdf(double z) noexcept;

struct Interval {
  double low = 0;
  double high = 0;
};

/// Two-sided confidence interval of the mean of normally distributed values with unknown variance:
/// mean ± t(1-(1-level)/2, n-1)·s/√n. n ≥ 2, 0 < level < 1.
[[nodiscard]] std::optional<Interval> mean_interval(std::span<const double> values,
                                                    double level = 0.95);

}  // namespace assay::stats
