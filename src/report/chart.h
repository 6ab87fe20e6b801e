#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report {

/// A chart over the time of a round, as an HTML figure with an inline SVG. The plot stretches with
/// the page while its text keeps its size.
struct Chart {
  std::string title;
  std::string unit;
  std::vector<const judge::Series*> series;  ///< with the same name and unit; not empty
  std::span<const judge::Phase> phases;
  double end_s = 0;                    ///< right end of the time axis
  std::size_t max_points = 0;          ///< per line; thinning keeps extremes
  std::vector<judge::Level> levels{};  ///< drawn as horizontal lines
  std::optional<std::size_t> odd{};    ///< the series that stands out; the others are muted
};

/// With more series, the chart draws a band from the lowest to the highest, with the median.
inline constexpr std::size_t kMaxLines = 8;

/// The number of lines that the chart draws.
[[nodiscard]] std::size_t lines_of(std::size_t series);

/// The CSS class of a phase.
[[nodiscard]] std::string_view phase_class(std::string_view name) noexcept;

/// The frame of a chart: title, drawing, legend.
struct ChartFrame {
  std::string title = {};  ///< with unit and stat; empty: no caption
  std::string unit = {};
  std::string stat = {};
  std::string label;  ///< describes the drawing to readers who cannot see it
  page::Html drawing;
  double height = 0;       ///< in pixels
  page::Html legend = {};  ///< its items
  std::string css = {};    ///< the figure's class, in addition to "chart"
  std::string frame = {};  ///< the drawing's class, in addition to "frame"
  /// For the values under the pointer: the end of the time axis and the range of the other one.
  struct Extent {
    double end_s;
    double low;
    double high;
  };
  std::optional<Extent> extent = {};
};
[[nodiscard]] page::Html render_frame(const ChartFrame& frame);

/// Empty if no series has a finite point.
[[nodiscard]] page::Html render_chart(const Chart& chart);

/// At most `max_points` points; every part keeps its first, lowest, highest and last point, so that
/// spikes stay. Points without a value (NaN) interrupt the line; those without a time are left out.
[[nodiscard]] std::vector<judge::Point> thin(const std::vector<judge::Point>& points,
                                             std::size_t max_points);

/// Bars of relative speed, one per rank, with slow ones marked. Empty if no rank has one.
[[nodiscard]] page::Html render_rank_speeds(const judge::RoundResult& round);

}  // namespace assay::report
