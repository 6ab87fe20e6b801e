#include "stats/student.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "stats/descriptive.h"

namespace assay::stats {

namespace {

// ln Γ without the process-wide `signgam` that std::lgamma writes (a data race between threads).
double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}

// Continued fraction of I_x(a, b), evaluated by the modified Lentz method; converges fast for
// x < (a+1)/(a+b+2).
std::optional<double> beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr double kPrecision = 1e-15;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    const double step = d * c;
    result *= step;
    if (std::abs(step - 1) < kPrecision) return result;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> incomplete_beta(double a, double b, double x) {
  if (!(a > 0) || !(b > 0) || !(x >= 0 && x <= 1) || !std::isfinite(a) || !std::isfinite(b))
    return std::nullopt;
  if (x == 0 || x == 1) return x;
  const double front = std::exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) +
                                b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) {
    const auto fraction = beta_fraction(a, b, x);
    if (!fraction) return std::nullopt;
    return std::clamp(front * *fraction / a, 0.0, 1.0);
  }
  const auto fraction = beta_fraction(b, a, 1 - x);
  if (!fraction) return std::nullopt;
  return std::clamp(1 - front * *fraction / b, 0.0, 1.0);
}

std::optional<double> student_t_cdf(double t, double df) {
  if (!(df > 0) || !std::isfinite(df) || std::isnan(t)) return std::nullopt;
  if (std::isinf(t)) return t > 0 ? 1.0 : 0.0;
  // The tail from the smaller of the two arguments, so that 1-x loses no digits near t = 0.
  const double square = t * t;
  std::optional<double> tail;
  if (square < df) {
    const auto centre = incomplete_beta(0.5, df / 2, square / (df + square));
    if (centre) tail = (1 - *centre) / 2;
  } else {
    tail = incomplete_beta(df / 2, 0.5, df / (df + square));
    if (tail) *tail /= 2;
  }
  if (!tail) return std::nullopt;
  return t > 0 ? 1 - *tail : *tail;
}

std::optional<double> student_t_quantile(double p, double df) {
  if (!(p > 0 && p < 1) || !(df > 0) || !std::isfinite(df)) return std::nullopt;
  if (p == 0.5) return 0.0;
  if (p < 0.5) {
    const auto mirrored = student_t_quantile(1 - p, df);
    return mirrored ? std::optional(-*mirrored) : std::nullopt;
  }
  double low = 0;
  double high = 1;
  for (;;) {
    const auto at = student_t_cdf(high, df);
    if (!at) return std::nullopt;
    if (*at >= p) break;
    low = high;
    high *= 2;
    if (!std::isfinite(high)) return std::nullopt;
  }
  // Bisection down to neighbouring doubles: at most ~60 evaluations, no derivative to go wrong.
  while (true) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    const auto at = student_t_cdf(middle, df);
    if (!at) return std::nullopt;
    (*at < p ? low : high) = middle;
  }
}

double normal_cdf(double z) noexcept {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

std::optional<Interval> mean_interval(std::span<const double> values, double level) {
  if (!(level > 0 && level < 1)) return std::nullopt;
  const auto centre = mean(values);
  const auto spread = stddev(values);
  if (!centre || !spread) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const auto t = student_t_quantile(1 - (1 - level) / 2, n - 1);
  if (!t) return std::nullopt;
  const double half = *t * *spread / std::sqrt(n);
  if (!std::isfinite(*centre - half) || !std::isfinite(*centre + half)) return std::nullopt;
  return Interval{*centre - half, *centre + half};
}

}  // namespace assay::stats
