#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace assay::stats {

/// Neighboring values taken to have the same level.
struct Segment {
  std::size_t first = 0;
  std::size_t end = 0;
  double mean = 0;
  double stddev = 0;  ///< of its values; 0 for a single value
  [[nodiscard]] double size() const { return static_cast<double>(end - first); }
};

/// Splits a series into segments of constant level. `values` must be finite and not empty.
class Segmentation {
 public:
  explicit Segmentation(std::span<const double> values);

  [[nodiscard]] Segment segment(std::size_t first, std::size_t end) const;

  /// The segments of at least `least` values with the smallest sum of squares plus `penalty` for
  /// each (optimal partitioning). One segment for fewer than twice `least` values. O(n²).
  [[nodiscard]] std::vector<Segment> segments(double penalty, std::size_t least = 1) const;

 private:
  [[nodiscard]] double cost(std::size_t first, std::size_t end) const;

  double origin_ = 0;
  std::vector<double> sum_;
  std::vector<double> squares_;
};

}  // namespace assay::stats
