#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace assay::live {

/// Seconds since the Unix epoch, and a value; NaN is a gap.
using Point = std::pair<double, double>;

/// A stretch of a series. `replaces_from`: earlier points from there on are replaced.
struct Stretch {
  std::vector<Point> points{};
  double replaces_from = 0;
};

struct Span {
  double from = 0;
  double to = 1e18;

  bool operator==(const Span&) const = default;
};

/// Values over time in bounded memory: where there are more than it keeps, neighbors are put
/// together, of which the least and the greatest value stay with their times. A spike is never
/// lost.
class ThinnedSeries {
 public:
  explicit ThinnedSeries(std::size_t most = 4096) : most_(most) {}

  /// Times that fall back are taken as the newest; a value that is not finite is a gap.
  void add(double t, double value);
  /// Keeps fewer from now on.
  void limit(std::size_t most);
  /// At most about `count` points, the extremes of the points that they represent.
  [[nodiscard]] Stretch points(const Span& span, std::size_t count) const;
  [[nodiscard]] double newest() const noexcept { return newest_; }
  [[nodiscard]] bool empty() const noexcept { return buckets_.empty(); }

 private:
  struct Bucket {
    Point least;
    Point greatest;
    double begin = 0;
    double gap = 0;  // when a value was not finite; 0: none
    std::uint32_t values = 0;
  };
  static void join(Bucket& into, const Bucket& next);
  void thin();

  std::size_t most_;
  std::uint32_t per_bucket_ = 1;
  std::vector<Bucket> buckets_;
  double newest_ = 0;
};

/// A rate over time from amounts that were done between two moments, of several who do them at
/// the same time: each amount is spread evenly over its time. Bounded as ThinnedSeries: the bins
/// become wider.
class RateSeries {
 public:
  explicit RateSeries(std::size_t most = 2048, double width = 0.25) : most_(most), width_(width) {}

  void add(double from, double to, double amount);
  /// Of the bins that end before `complete_until`: what comes later may still grow.
  [[nodiscard]] Stretch points(const Span& span, std::size_t count, double complete_until) const;
  void limit(std::size_t most);
  [[nodiscard]] bool empty() const noexcept { return bins_.empty(); }

 private:
  void widen();

  std::size_t most_;
  double width_;
  double start_ = 0;
  struct Bin {
    double amount = 0;
    bool covered = false;
  };
  std::deque<Bin> bins_;
};

}  // namespace assay::live
