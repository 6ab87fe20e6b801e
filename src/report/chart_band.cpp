#include "report/chart_band.h"

#include <algorithm>
#include <cmath>

namespace assay::report {

using judge::Point;

Band band_of(std::span<const judge::Series* const> series, double end_s, std::size_t buckets) {
  buckets = std::max<std::size_t>(buckets, 2);
  std::vector<std::vector<double>> columns(buckets);
  for (const judge::Series* curve : series) {
    std::vector<double> sums(buckets);
    std::vector<int> counts(buckets);
    for (const Point& point : curve->points) {
      if (!std::isfinite(point.t_s) || !std::isfinite(point.value) || point.t_s < 0) continue;
      const auto at =
          std::min(buckets - 1, static_cast<std::size_t>(std::min(point.t_s / end_s, 1.0) *
                                                         static_cast<double>(buckets)));
      sums[at] += point.value;
      ++counts[at];
    }
    for (std::size_t i = 0; i < buckets; ++i)
      if (counts[i] > 0) columns[i].push_back(sums[i] / counts[i]);
  }
  Band band;
  for (std::size_t i = 0; i < buckets; ++i) {
    if (columns[i].empty()) continue;
    std::ranges::sort(columns[i]);
    const double t = (static_cast<double>(i) + 0.5) / static_cast<double>(buckets) * end_s;
    const std::size_t n = columns[i].size();
    const double median =
        n % 2 == 1 ? columns[i][n / 2] : (columns[i][n / 2 - 1] + columns[i][n / 2]) / 2;
    band.low.push_back({t, columns[i].front()});
    band.median.push_back({t, median});
    band.high.push_back({t, columns[i].back()});
  }
  return band;
}

}  // namespace assay::report
