#include "stats/series.h"

#include <algorithm>
#include <cmath>

namespace assay::stats {

std::optional<double> value_at(std::span<const Sample> series, double t) {
  if (series.empty() || std::isnan(t)) return std::nullopt;
  const auto after = std::ranges::upper_bound(series, t, {}, &Sample::t);
  if (after == series.begin()) return series.front().value;
  if (after == series.end()) return series.back().value;
  const Sample& left = *(after - 1);
  const Sample& right = *after;
  return std::lerp(left.value, right.value, (t - left.t) / (right.t - left.t));
}

std::optional<double> integrate(std::span<const Sample> series, double a, double b) {
  if (series.empty() || !(a <= b) || !std::isfinite(a) || !std::isfinite(b)) return std::nullopt;
  const auto first = std::ranges::upper_bound(series, a, {}, &Sample::t);
  Sample last{a, value_at(series, a).value_or(0)};
  long double sum = 0;
  const auto add = [&](const Sample& next) {
    sum += static_cast<long double>(next.t - last.t) * (next.value + last.value) / 2;
    last = next;
  };
  for (auto at = first; at != series.end() && at->t < b; ++at) add(*at);
  add({b, value_at(series, b).value_or(0)});
  const auto result = static_cast<double>(sum);
  return std::isfinite(result) ? std::optional(result) : std::nullopt;
}

double covered(std::span<const Sample> series, double a, double b) {
  if (series.empty()) return 0;
  return std::max(0.0, std::min(b, series.back().t) - std::max(a, series.front().t));
}

std::vector<Sample> thin(std::span<const Sample> series, std::size_t limit) {
  if (series.size() <= limit || limit < 4) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(series.size(), limit));
    return {series.begin(), series.begin() + count};
  }
  const std::span<const Sample> inner = series.subspan(1, series.size() - 2);
  const std::size_t buckets = (limit - 2) / 2;
  std::vector<Sample> out{series.front()};
  for (std::size_t i = 0; i < buckets; ++i) {
    const std::size_t begin = inner.size() * i / buckets;
    const std::size_t end = inner.size() * (i + 1) / buckets;
    if (begin == end) continue;
    const auto [low, high] =
        std::ranges::minmax_element(inner.subspan(begin, end - begin), {}, &Sample::value);
    if (low == high) {
      out.push_back(*low);
    } else {
      out.push_back(low < high ? *low : *high);
      out.push_back(low < high ? *high : *low);
    }
  }
  out.push_back(series.back());
  return out;
}

}  // namespace assay::stats
