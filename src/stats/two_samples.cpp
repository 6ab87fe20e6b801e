#include "stats/two_samples.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/descriptive.h"
#include "stats/mann_whitney.h"

namespace assay::stats {

namespace {

struct Moments {
  double mean = 0;
  double variance = 0;  // of a single value
  double n = 0;
};

Moments moments(std::span<const double> values, bool logarithms) {
  std::vector<double> kept(values.begin(), values.end());
  if (logarithms)
    for (double& value : kept) value = std::log(value);
  const double s = stddev(kept).value_or(0);
  return {*mean(kept), s * s, static_cast<double>(kept.size())};
}

bool usable(std::span<const double> values) {
  return !values.empty() && std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

// Standard error of the difference of the means, and its degrees of freedom; 0 if unknown.
struct Error {
  double standard = 0;
  double freedom = 0;
};

Error error_of(const Moments& a, const Moments& b) {
  if (a.n < 2 && b.n < 2) return {};
  if (a.n < 2 || b.n < 2) {
    const double variance = a.n < 2 ? b.variance : a.variance;
    return {std::sqrt(variance * (1 / a.n + 1 / b.n)), a.n + b.n - 2};
  }
  const double va = a.variance / a.n;
  const double vb = b.variance / b.n;
  const double both = va + vb;
  if (both <= 0) return {0, a.n + b.n - 2};
  return {std::sqrt(both), both * both / (va * va / (a.n - 1) + vb * vb / (b.n - 1))};
}

double pooled_spread(const Moments& a, const Moments& b) {
  const double freedom = a.n + b.n - 2;
  return freedom > 0 ? std::sqrt(((a.n - 1) * a.variance + (b.n - 1) * b.variance) / freedom) : 0;
}

}  // namespace

std::optional<LevelChange> level_change(std::span<const double> first,
                                        std::span<const double> second) {
  if (!usable(first) || !usable(second)) return std::nullopt;
  const auto positive = [](double v) { return v > 0; };
  const bool logarithms =
      std::ranges::all_of(first, positive) && std::ranges::all_of(second, positive);
  const Moments a = moments(first, logarithms);
  const Moments b = moments(second, logarithms);
  const double difference = b.mean - a.mean;
  const double scale = std::abs(a.mean);
  if (!logarithms && scale == 0 && difference != 0) return std::nullopt;
  const auto relative = [&](double d) {
    if (logarithms) return std::expm1(d);
    return d == 0 ? 0 : d / scale;
  };

  LevelChange result;
  result.change = relative(difference);
  const double spread = pooled_spread(a, b);
  result.spread = logarithms || scale == 0 ? spread : spread / scale;
  if (const double freedom = a.n + b.n - 2; freedom > 0 && spread > 0)
    result.effect = difference / spread * (1 - 3 / (4 * freedom - 1));
  const Error error = error_of(a, b);
  const bool alone = std::min(a.n, b.n) < 2 && error.standard <= 0 && difference != 0;
  if (error.freedom > 0 && !alone) {
    const double half = *student_t_quantile(0.975, error.freedom) * error.standard;
    result.interval = Interval{relative(difference - half), relative(difference + half)};
    if (error.standard > 0)
      result.p_value = student_t_tail(std::abs(difference) / error.standard, error.freedom) * 2;
    else
      result.p_value = difference == 0 ? 1 : 0;
  }
  if (const auto ranks = mann_whitney(second, first)) {
    result.superiority = ranks->superiority;
    if (std::min(first.size(), second.size()) >= kRankTestValues) result.rank_p = ranks->p_value;
  }
  return result;
}

int values_to_decide(double spread, double tolerance, int limit) {
  const auto half = [&](int n) {
    return *student_t_quantile(0.975, 2 * n - 2) * spread * std::sqrt(2.0 / n);
  };
  // Starts from the normal distribution's number, which is slightly too small.
  const double ratio = 1.96 * spread / tolerance;
  const double least = 2 * ratio * ratio;
  if (!(least < limit)) return limit;
  int n = std::max(2, static_cast<int>(least));
  while (n < limit && half(n) > tolerance) ++n;
  return n;
}

std::vector<double> holm(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p_values[i]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double p = p_values[order[rank]] * static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, p));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace assay::stats
