#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "page/markup.h"

namespace assay::report {

/// A point in a chart whose x axis is not time.
struct PlotPoint {
  double x = 0;
  std::optional<double> y{};  ///< nothing: no value, shown as a cross at the bottom
  std::string title{};        ///< shown under the pointer
  bool marked = false;        ///< the best one
};

struct PlotLine {
  std::string label{};
  std::vector<PlotPoint> points{};  ///< in the order of x
};

/// Lines through a few marked points. The value axis begins at 0 unless there are negative values.
struct PointChart {
  std::string title;
  std::string unit{};  ///< the values' unit, as in judge::Metric
  std::string stat{};
  std::string label{};                                  ///< for readers who cannot see the chart
  std::vector<PlotLine> lines{};                        ///< 1 to kMaxLines
  std::vector<std::pair<double, std::string>> ticks{};  ///< of the x axis
  std::string x_title{};
  std::optional<PlotLine> ideal{};  ///< shown as a dashed line
};

/// Empty if no point has a finite value.
[[nodiscard]] page::Html render_point_chart(const PointChart& chart);

}  // namespace assay::report
