#include "stats/bootstrap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "stats/student.h"

namespace assay::stats {

namespace {

/// SplitMix64: small, the same everywhere, and good enough for placing blocks.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

 private:
  std::uint64_t state_;
};

// Equally probable lengths that are geometrically distributed as a whole: 1 + ⌊ln U / ln(1 -
// 1/mean)⌋ for evenly spaced U. Computing a logarithm per block would take most of the time.
using Lengths = std::array<std::uint32_t, 1024>;

Lengths geometric_lengths(double mean) {
  Lengths out{};
  const double scale = mean > 1 ? 1 / std::log1p(-1 / mean) : 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double unit = (static_cast<double>(i) + 0.5) / static_cast<double>(out.size());
    out[i] = 1 + static_cast<std::uint32_t>(std::log(unit) * scale);
  }
  return out;
}

double flat_top(double t) {
  return t <= 0.5 ? 1 : 2 * (1 - t);
}

std::vector<double> autocovariances(std::span<const double> values, std::size_t lags) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  std::vector<double> out;
  for (std::size_t lag = 0; lag <= lags; ++lag) {
    double sum = 0;
    for (std::size_t i = lag; i < values.size(); ++i)
      sum += (values[i] - mean) * (values[i - lag] - mean);
    out.push_back(sum / n);
  }
  return out;
}

// The last lag before a run of `quiet` correlations that may be chance.
std::size_t last_correlated(const std::vector<double>& covariances, std::size_t quiet,
                            double limit) {
  std::size_t in_a_row = 0;
  for (std::size_t lag = 1; lag < covariances.size(); ++lag) {
    in_a_row = std::abs(covariances[lag]) < limit * covariances[0] ? in_a_row + 1 : 0;
    if (in_a_row == quiet) return lag - quiet;
  }
  return covariances.size() - 1 - in_a_row;
}

}  // namespace

double block_length(std::span<const double> values) {
  if (values.size() < 4) return 1;
  const auto n = static_cast<double>(values.size());
  const auto quiet = static_cast<std::size_t>(std::max(5.0, std::ceil(std::sqrt(std::log10(n)))));
  const std::size_t most_lags =
      std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(std::sqrt(n))) + quiet);
  const std::vector<double> covariances = autocovariances(values, most_lags);
  if (!(covariances[0] > 0)) return 1;
  const std::size_t last = last_correlated(covariances, quiet, 2 * std::sqrt(std::log10(n) / n));
  const std::size_t width = std::min(2 * last, most_lags);
  double spectrum = covariances[0];
  double slope = 0;
  for (std::size_t lag = 1; lag <= width; ++lag) {
    const double weighted =
        2 * flat_top(static_cast<double>(lag) / static_cast<double>(width)) * covariances[lag];
    spectrum += weighted;
    slope += static_cast<double>(lag) * weighted;
  }
  const double most = std::ceil(std::min(3 * std::sqrt(n), n / 3));
  const double least = std::cbrt(n);
  if (slope == 0) return least;
  if (!(spectrum > 0)) return least;
  return std::clamp(std::cbrt(slope * slope / (spectrum * spectrum) * n), least, most);
}

std::vector<double> mean_errors(std::span<const double> values, std::size_t count,
                                std::uint64_t seed) {
  const std::size_t n = values.size();
  if (n < kMinResampled ||
      !std::ranges::all_of(values, [](double v) { return std::isfinite(v) && v > 0; }))
    return {};
  // Prefix sums, twice around the circle: the sum of a block is then one subtraction.
  std::vector<double> sums(2 * n + 1, 0);
  for (std::size_t i = 0; i < 2 * n; ++i) sums[i + 1] = sums[i] + values[i % n];
  const double total = sums[n];
  const double length = block_length(values);
  const double freedom = std::max(1.0, static_cast<double>(n) / length - 1);
  const double wider = std::sqrt(static_cast<double>(n) / static_cast<double>(n - 1)) *
                       student_t_quantile(0.975, freedom).value_or(1.96) / 1.959963984540054;
  const Lengths lengths = geometric_lengths(length);
  Random random(seed);
  std::vector<double> out(count);
  for (double& error : out) {
    double sum = 0;
    for (std::size_t left = n; left > 0;) {
      const std::uint64_t drawn = random.next();
      const std::size_t start = ((drawn >> 32U) * n) >> 32U;
      const std::size_t taken = std::min<std::size_t>(left, lengths[drawn % lengths.size()]);
      sum += sums[start + taken] - sums[start];
      left -= taken;
    }
    error = (sum / total - 1) * wider;
  }
  return out;
}

std::vector<double> grouped(std::span<const double> values, std::size_t limit) {
  if (values.size() <= limit || limit == 0) return {values.begin(), values.end()};
  std::vector<double> out;
  out.reserve(limit);
  for (std::size_t i = 0; i < limit; ++i) {
    const std::size_t begin = values.size() * i / limit;
    const std::size_t end = values.size() * (i + 1) / limit;
    out.push_back(std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                  values.begin() + static_cast<std::ptrdiff_t>(end), 0.0) /
                  static_cast<double>(end - begin));
  }
  return out;
}

}  // namespace assay::stats
