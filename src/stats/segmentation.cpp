#include "stats/segmentation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::stats {

Segmentation::Segmentation(std::span<const double> values) : sum_(1, 0), squares_(1, 0) {
  // Relative to the first value, so that the sums of squares keep their precision.
  origin_ = values.front();
  for (const double each : values) {
    const double value = each - origin_;
    sum_.push_back(sum_.back() + value);
    squares_.push_back(squares_.back() + value * value);
  }
}

Segment Segmentation::segment(std::size_t first, std::size_t end) const {
  const double n = static_cast<double>(end - first);
  const double mean = (sum_[end] - sum_[first]) / n;
  return {first, end, origin_ + mean, n > 1 ? std::sqrt(cost(first, end) / (n - 1)) : 0};
}

std::vector<Segment> Segmentation::segments(double penalty, std::size_t least) const {
  const std::size_t n = sum_.size() - 1;
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<double> best(n + 1, kNever);
  std::vector<std::size_t> from(n + 1, 0);
  best[0] = 0;
  for (std::size_t end = std::min(least, n); end <= n; ++end) {
    for (std::size_t first = 0; first == 0 || first + least <= end; ++first) {
      if (best[first] == kNever) continue;
      const double total = best[first] + cost(first, end) + penalty;
      if (total >= best[end]) continue;
      best[end] = total;
      from[end] = first;
    }
  }
  std::vector<Segment> found;
  for (std::size_t end = n; end > 0; end = from[end]) found.push_back(segment(from[end], end));
  std::ranges::reverse(found);
  return found;
}

double Segmentation::cost(std::size_t first, std::size_t end) const {
  const double sum = sum_[end] - sum_[first];
  return std::max(0.0,
                  squares_[end] - squares_[first] - sum * sum / static_cast<double>(end - first));
}

}  // namespace assay::stats
