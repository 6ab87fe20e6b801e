#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "judge/result.h"

namespace assay::report {

/// Many series as one: the lowest, the median and the highest of them over time.
struct Band {
  std::vector<judge::Point> low, median, high;
};

/// Every series is averaged in equal stretches of the time from 0 to `end_s`; the band is taken
/// over the series. A stretch in which none has a value has no point.
[[nodiscard]] Band band_of(std::span<const judge::Series* const> series, double end_s,
                           std::size_t buckets);

}  // namespace assay::report
