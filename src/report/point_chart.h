#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "page/markup.h"

namespace assay::report {

/// A point of a chart that is not over time.
struct PlotPoint {
  double x = 0;
  std::optional<double> y{};  ///< nothing: there is no value, and a cross at the bottom says so
  std::string title{};        ///< shown under the pointer
  bool marked = false;        ///< the best
};

struct PlotLine {
  std::string label{};
  std::vector<PlotPoint> points{};  ///< in the order of x
};

/// Lines through few points, each of which is marked. The axis of values begins at 0 unless values
/// are below it.
struct PointChart {
  std::string title;
  std::string unit{};  ///< of the values, as judge::Metric has it
  std::string stat{};
  std::string label{};                                  ///< for readers who cannot see it
  std::vector<PlotLine> lines{};                        ///< 1 to kMaxLines
  std::vector<std::pair<double, std::string>> ticks{};  ///< of the x axis
  std::string x_title{};
  std::optional<PlotLine> ideal{};  ///< drawn as a dashed line
};

/// Empty when no point has a finite value.
[[nodiscard]] page::Html render_point_chart(const PointChart& chart);

}  // namespace assay::report
