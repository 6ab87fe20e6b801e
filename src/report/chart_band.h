#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "judge/result.h"

namespace assay::report {

/// Many series in one: their lowest, median and highest value over time.
struct Band {
  std::vector<judge::Point> low, median, high;
};

/// Averages every series over equal parts of the time from 0 to `end_s`, then takes the band over
/// the series. A part without any value has no point.
[[nodiscard]] Band band_of(std::span<const judge::Series* const> series, double end_s,
                           std::size_t buckets);

}  // namespace assay::report
