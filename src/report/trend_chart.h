#pragma once

#include <string>
#include <vector>

#include "page/markup.h"

namespace assay::report {

/// A value over consecutive, evenly spaced runs, with its levels and changes: an HTML figure with
/// an inline SVG.
struct TrendChart {
  struct Point {
    double value = 0;
    double low = 0;
    double high = 0;
    std::string day{};    ///< "2026-11-15", for the axis
    std::string title{};  ///< shown under the pointer
    std::string link{};   ///< empty: no link
  };
  struct Stretch {
    std::size_t first = 0;  ///< index of a point
    std::size_t end = 0;
    double level = 0;
  };
  struct Mark {
    std::size_t at = 0;  ///< index of the point where it begins
    std::string css{};   ///< "better", "worse", "changed"
    std::string title{};
  };

  std::string title;
  std::string unit;
  std::string stat{};  ///< beside the title
  std::vector<Point> points{};
  std::vector<Stretch> levels{};
  std::vector<Mark> marks{};
};

/// Empty without a point. With more than 400 points, groups of neighbors are drawn.
[[nodiscard]] page::Html render_trend(const TrendChart& chart);

}  // namespace assay::report
