#include "stats/descriptive.h"

#include <algorithm>
#include <cmath>

namespace assay::stats {

namespace {

bool all_finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
}

// Compensated (Neumaier), so that the sum of millions of step times is right to the last digit.
double sum_of(std::span<const double> values) {
  double sum = 0;
  double lost = 0;
  for (const double v : values) {
    const double next = sum + v;
    lost += std::abs(sum) >= std::abs(v) ? (sum - next) + v : (v - next) + sum;
    sum = next;
  }
  return sum + lost;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

std::optional<double> percentile(std::span<const double> values, double p) {
  if (values.empty() || !(p >= 0 && p <= 100) || !all_finite(values)) return std::nullopt;
  std::vector<double> copy(values.begin(), values.end());
  const double h = static_cast<double>(copy.size() - 1) * p / 100;
  const auto below = std::min(static_cast<std::size_t>(h), copy.size() - 1);
  const auto at = copy.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(copy, at);
  if (below + 1 == copy.size()) return *at;
  const double above = *std::min_element(at + 1, copy.end());
  return finite(std::lerp(*at, above, h - static_cast<double>(below)));
}

std::vector<double> percentiles(std::vector<double> values, std::span<const double> ps) {
  if (values.empty() || !all_finite(values)) return {};
  std::ranges::sort(values);
  std::vector<double> out;
  for (const double p : ps) {
    if (!(p >= 0 && p <= 100)) return {};
    const double h = static_cast<double>(values.size() - 1) * p / 100;
    const auto below = std::min(static_cast<std::size_t>(h), values.size() - 1);
    const auto above = std::min(below + 1, values.size() - 1);
    out.push_back(std::lerp(values[below], values[above], h - static_cast<double>(below)));
  }
  return out;
}

std::optional<double> median(std::span<const double> values) {
  return percentile(values, 50);
}

std::optional<double> mean(std::span<const double> values) {
  if (values.empty() || !all_finite(values)) return std::nullopt;
  return finite(sum_of(values) / static_cast<double>(values.size()));
}

std::optional<double> stddev(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const auto center = mean(values);
  if (!center) return std::nullopt;
  long double sum = 0;
  for (const double v : values) {
    const long double d = static_cast<long double>(v) - *center;
    sum += d * d;
  }
  return finite(static_cast<double>(std::sqrt(sum / static_cast<long double>(values.size() - 1))));
}

std::optional<double> cv(std::span<const double> values) {
  const auto spread = stddev(values);
  const auto center = mean(values);
  if (!spread || !center || *center == 0) return std::nullopt;
  return finite(*spread / std::abs(*center));
}

std::optional<double> olympic_mean(std::span<const double> values) {
  if (values.size() < 3 || !all_finite(values)) return std::nullopt;
  const auto [low, high] = std::ranges::minmax_element(values);
  std::vector<double> kept;
  kept.reserve(values.size());
  bool low_left_out = false;
  bool high_left_out = false;
  for (const double v : values) {
    if (!low_left_out && v == *low)
      low_left_out = true;
    else if (!high_left_out && v == *high)
      high_left_out = true;
    else
      kept.push_back(v);
  }
  return mean(kept);
}

}  // namespace assay::stats
