#include "stats/change_points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>

#include "stats/descriptive.h"
#include "stats/segmentation.h"

namespace assay::stats {

namespace {

constexpr std::size_t kMostGroups = 256;
constexpr std::size_t kMinValues = 8;
constexpr std::size_t kOrders = 999;
constexpr double kClip = 6;
constexpr double kMadOfNormal = 0.6745;

/// splitmix64 gives the same orders everywhere.
class Orders {
 public:
  explicit Orders(std::uint64_t seed) : state_(seed) {}
  /// A number below `limit`, which is far below 2³².
  std::size_t below(std::size_t limit) {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<std::size_t>(((z >> 32) * limit) >> 32);
  }

 private:
  std::uint64_t state_;
};

/// Neighboring values combined into groups.
struct Grouped {
  std::vector<double> values;
  std::vector<std::size_t> firsts;  ///< index of each group's first value, then one past the last
};

Grouped group(std::span<const double> values) {
  Grouped out;
  const std::size_t count = std::min(values.size(), kMostGroups);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t first = values.size() * i / count;
    const std::size_t end = values.size() * (i + 1) / count;
    out.firsts.push_back(first);
    out.values.push_back(*median(values.subspan(first, end - first)));
  }
  out.firsts.push_back(values.size());
  return out;
}

/// Values in robust standard deviations from the median, clipped. Empty if they do not vary.
std::vector<double> standardized(std::span<const double> values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i)
    steps.push_back(std::abs(values[i] - values[i - 1]));
  const double center = *median(values);
  double sigma = *median(steps) / kMadOfNormal / std::sqrt(2.0);
  if (sigma <= 0) {
    // More than half of the neighbors are equal, so the others' deviations are used.
    for (const double value : values) sigma += std::abs(value - center);
    sigma *= 1.2533 / static_cast<double>(values.size());
  }
  if (!(sigma > 0) || !std::isfinite(sigma)) return {};
  std::vector<double> out;
  out.reserve(values.size());
  for (const double value : values)
    out.push_back(std::clamp((value - center) / sigma, -kClip, kClip));
  return out;
}

/// The variance of the values; does not mistake dependent neighbors for calm.
double variance_of(std::span<const double> scaled) {
  double typical = 1;  // for neighbors, by the scaling
  for (std::size_t apart = 2; apart <= 3; ++apart) {
    std::vector<double> differences;
    for (std::size_t i = apart; i < scaled.size(); ++i)
      differences.push_back(std::abs(scaled[i] - scaled[i - apart]));
    typical = std::max(typical, *median(differences) / kMadOfNormal / std::sqrt(2.0));
  }
  return typical * typical;
}

struct Split {
  std::size_t at = 0;
  double size = -1;  ///< difference of the means over its standard error, up to the noise
};

/// The weight 1/√(k(n-k)/n) of every split.
std::vector<double> split_weights(std::size_t n) {
  std::vector<double> out(n, 0);
  const double count = static_cast<double>(n);
  for (std::size_t k = kMinLevel; k + kMinLevel <= n; ++k)
    out[k] = 1 / std::sqrt(static_cast<double>(k) * static_cast<double>(n - k) / count);
  return out;
}

Split largest_split(std::span<const double> values, std::span<const double> weights) {
  const std::size_t n = values.size();
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(n);
  Split best;
  double sum = 0;
  for (std::size_t k = 0; k + kMinLevel <= n; ++k) {
    const double size = std::abs(sum) * weights[k];
    if (k >= kMinLevel && size > best.size) best = {k, size};
    sum += values[k] - mean;
  }
  return best;
}

/// The autocorrelation that remains after each side of a split is given its mean.
double correlation_around(std::span<const double> values, std::size_t split) {
  const double left = *mean(values.subspan(0, split));
  const double right = *mean(values.subspan(split));
  double squares = 0;
  double products = 0;
  double last = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double rest = values[i] - (i < split ? left : right);
    squares += rest * rest;
    if (i > 0 && i != split) products += rest * last;
    last = rest;
  }
  if (squares <= 0) return 0;
  // Residuals around two fitted means are slightly less dependent than the noise is.
  return products / squares + 2 / static_cast<double>(values.size());
}

/// How many neighbors must stay together for random orders to be as dependent as the values are.
std::size_t block_length_around(std::span<const double> values, std::size_t split) {
  const std::size_t n = values.size();
  const double correlation = correlation_around(values, split);
  if (correlation < 1 / std::sqrt(static_cast<double>(n))) return 1;
  const double kept = std::min(correlation, 0.9);
  const auto length = static_cast<std::size_t>(std::ceil((1 + kept) / (1 - kept)));
  return std::clamp<std::size_t>(length, 2, std::max<std::size_t>(2, n / 6));
}

/// Whether the medians of both sides differ too: a few outliers only move a mean.
bool medians_differ(std::span<const double> values, std::size_t split) {
  constexpr double kErrors = 2.5;
  constexpr double kMedianToMean = 1.2533;  // their standard errors, for normal values
  const double left = static_cast<double>(split);
  const double right = static_cast<double>(values.size() - split);
  return std::abs(*median(values.subspan(0, split)) - *median(values.subspan(split))) >=
         kErrors * kMedianToMean * std::sqrt(1 / left + 1 / right);
}

/// How many random orders may be as extreme as the finding.
std::size_t orders_allowed(double false_rate) {
  return static_cast<std::size_t>(false_rate * static_cast<double>(kOrders + 1)) - 1;
}

// Sums in a different order may differ in their last digits.
double as_large_as(double found) {
  return found * (1 - 1e-9);
}

/// Whether at most a share `false_rate` of random orders of the values, in blocks of `length`
/// neighbors, has a `statistic` as large as `found`.
template <class Statistic>
bool beats_random_orders(std::span<const double> values, std::size_t length, double found,
                         double false_rate, const Statistic& statistic) {
  const std::size_t n = values.size();
  const std::size_t blocks = (n + length - 1) / length;
  const std::size_t allowed = orders_allowed(false_rate);
  Orders orders(n);
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  std::vector<double> mixed(n);
  std::size_t as_large = 0;
  for (std::size_t i = 0; i < kOrders; ++i) {
    for (std::size_t k = blocks; k > 1; --k) std::swap(order[k - 1], order[orders.below(k)]);
    std::size_t at = 0;
    for (const std::size_t block : order)
      for (std::size_t k = block * length; k < std::min(n, (block + 1) * length); ++k)
        mixed[at++] = values[k];
    if (statistic(mixed) >= as_large_as(found) && ++as_large > allowed) return false;
  }
  return true;
}

/// The same for single values and the size of the largest split, in one pass: a place's value is
/// final once the shuffle has passed it, and the sum after a split is minus the sum before it. Most
/// of the time of a history's query is spent here.
bool beats_shuffled_splits(std::span<const double> values, double found,
                           std::span<const double> weights, double false_rate) {
  const std::size_t allowed = orders_allowed(false_rate);
  const double center = *mean(values);
  std::vector<double> mixed;
  for (const double value : values) mixed.push_back(value - center);
  Orders orders(values.size());
  std::size_t as_large = 0;
  for (std::size_t i = 0; i < kOrders; ++i) {
    double sum = 0;
    double largest = 0;
    for (std::size_t k = mixed.size(); k > 1; --k) {
      std::swap(mixed[k - 1], mixed[orders.below(k)]);
      sum += mixed[k - 1];
      largest = std::max(largest, std::abs(sum) * weights[k - 1]);
    }
    if (largest >= as_large_as(found) && ++as_large > allowed) return false;
  }
  return true;
}

/// Whether so few orders can have a split as large as `found` that none needs to be tried:
/// Hoeffding's inequality for values drawn without replacement, applied to the shorter side of
/// every split.
bool beyond_any_order(std::span<const double> values, double found, double false_rate) {
  const auto [least, most] = std::ranges::minmax(values);
  const double in_ranges = found / (most - least);
  const double share = 2 * static_cast<double>(values.size()) * std::exp(-in_ranges * in_ranges);
  constexpr double kMargin = 10;
  return share * kMargin < false_rate;
}

bool is_change(std::span<const double> values, const Split& split, std::span<const double> weights,
               double false_rate) {
  const std::size_t length = block_length_around(values, split.at);
  if (length == 1 && beyond_any_order(values, split.size, false_rate)) return true;
  if (length == 1) return beats_shuffled_splits(values, split.size, weights, false_rate);
  return beats_random_orders(
      values, length, split.size, false_rate,
      [&](std::span<const double> mixed) { return largest_split(mixed, weights).size; });
}

/// The part of the sum of squares that the segments explain, minus their cost.
double gain_of(std::span<const double> values, std::span<const Segment> segments, double penalty) {
  const double all = *mean(values);
  double gain = penalty;
  for (const Segment& segment : segments)
    gain += segment.size() * (segment.mean - all) * (segment.mean - all) - penalty;
  return gain;
}

double correlation_within(std::span<const double> values, std::span<const Segment> segments) {
  double squares = 0;
  double products = 0;
  for (const Segment& segment : segments)
    for (std::size_t i = segment.first; i < segment.end; ++i) {
      const double rest = values[i] - segment.mean;
      squares += rest * rest;
      if (i > segment.first) products += rest * (values[i - 1] - segment.mean);
    }
  return squares > 0 ? products / squares : 0;
}

/// The segments, if the level certainly changes; otherwise one segment.
std::vector<Segment> certain_segments(std::span<const double> scaled, double false_rate) {
  const double count = static_cast<double>(scaled.size());
  const double penalty = 3 * std::log(count) * variance_of(scaled);
  const auto segments_of = [&](std::span<const double> values) {
    return Segmentation(values).segments(penalty, kMinLevel);
  };
  std::vector<Segment> segments = segments_of(scaled);
  if (segments.size() < 2) return {};
  const std::vector<double> weights = split_weights(scaled.size());
  if (is_change(scaled, largest_split(scaled, weights), weights, false_rate)) return segments;
  // A single split does not show a level that comes back.
  if (segments.size() < 3 || correlation_within(scaled, segments) > 1 / std::sqrt(count)) return {};
  const bool certain = beats_random_orders(
      scaled, 1, gain_of(scaled, segments, penalty), false_rate,
      [&](std::span<const double> mixed) { return gain_of(mixed, segments_of(mixed), penalty); });
  return certain ? segments : std::vector<Segment>();
}

double relative(double before, double after) {
  if (before == after) return 0;
  return before == 0 ? std::copysign(1, after) : (after - before) / std::abs(before);
}

class Finder {
 public:
  Finder(std::span<const double> values, const ChangeOptions& options)
      : values_(values), options_(options) {}

  /// The places where the level of [first, end) changes, as indices into all values.
  [[nodiscard]] std::vector<std::size_t> candidates(std::size_t first, std::size_t end) const {
    if (end - first < kMinValues) return {};
    const Grouped grouped = group(values_.subspan(first, end - first));
    const std::vector<double> scaled = standardized(grouped.values);
    if (scaled.empty()) return {};
    std::vector<std::size_t> out;
    for (const Segment& segment : certain_segments(scaled, options_.false_rate))
      if (segment.first > 0) out.push_back(first + grouped.firsts[segment.first]);
    return out;
  }

  /// The single certain change of [first, end), as an index into all values.
  [[nodiscard]] std::optional<std::size_t> change_in(std::size_t first, std::size_t end) const {
    if (end - first < kMinValues) return std::nullopt;
    const Grouped grouped = group(values_.subspan(first, end - first));
    const std::vector<double> scaled = standardized(grouped.values);
    if (scaled.empty()) return std::nullopt;
    const std::vector<double> weights = split_weights(scaled.size());
    const Split split = largest_split(scaled, weights);
    if (split.size <= 0 || !medians_differ(scaled, split.at) ||
        !is_change(scaled, split, weights, options_.false_rate))
      return std::nullopt;
    const std::size_t at = first + grouped.firsts[split.at];
    if (std::abs(relative(level(first, at), level(at, end))) < options_.least_change)
      return std::nullopt;
    return at;
  }

  [[nodiscard]] double level(std::size_t first, std::size_t end) const {
    return *median(values_.subspan(first, end - first));
  }

 private:
  std::span<const double> values_;
  const ChangeOptions& options_;
};

// Values far from other levels are clipped together, so each segment is searched separately.
void split_all(const Finder& finder, std::size_t first, std::size_t end,
               std::vector<std::size_t>& found) {
  const std::vector<std::size_t> candidates = finder.candidates(first, end);
  if (candidates.empty()) return;
  for (const std::size_t at : candidates) {
    split_all(finder, first, at, found);
    found.push_back(at);
    first = at;
  }
  split_all(finder, first, end, found);
}

}  // namespace

double ChangePoint::change() const {
  return relative(before, after);
}

std::vector<ChangePoint> find_changes(std::span<const double> values,
                                      const ChangeOptions& options) {
  if (values.size() < kMinValues || !mean(values)) return {};
  const Finder finder(values, options);
  std::vector<std::size_t> places;
  split_all(finder, 0, values.size(), places);
  // A recent change would get lost in groups.
  if (values.size() - (places.empty() ? 0 : places.back()) > kMostGroups)
    split_all(finder, values.size() - kMostGroups, values.size(), places);
  // Keeps only certain changes.
  for (std::size_t i = 0; i < places.size();) {
    const std::size_t first = i == 0 ? 0 : places[i - 1];
    const std::size_t end = i + 1 < places.size() ? places[i + 1] : values.size();
    // Around the change every value counts individually; a small change needs all of them.
    constexpr std::size_t kHalf = kMostGroups / 2;
    auto at = finder.change_in(places[i] > first + kHalf ? places[i] - kHalf : first,
                               std::min(end, places[i] + kHalf));
    if (!at) at = finder.change_in(first, end);
    if (at) {
      places[i++] = *at;
    } else {
      places.erase(places.begin() + static_cast<std::ptrdiff_t>(i));
      // The neighbors now have different neighbors.
      if (i > 0) --i;
    }
  }
  std::vector<ChangePoint> out;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t first = i == 0 ? 0 : places[i - 1];
    const std::size_t end = i + 1 < places.size() ? places[i + 1] : values.size();
    out.push_back({places[i], finder.level(first, places[i]), finder.level(places[i], end)});
  }
  return out;
}

}  // namespace assay::stats
