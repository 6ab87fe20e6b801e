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

/// One chart over the time of a round, as an HTML figure with an inline SVG. The plot stretches
/// with the page while its text keeps its size.
struct Chart {
  std::string title;
  std::string unit;
  std::vector<const judge::Series*> series;  ///< of the same name and unit; not empty
  std::span<const judge::Phase> phases;
  double end_s = 0;                    ///< right end of the time axis
  std::size_t max_points = 0;          ///< of every line; extremes survive the thinning
  std::vector<judge::Level> levels{};  ///< drawn as lines across
  std::optional<std::size_t> odd{};    ///< the series that stands out; the others are calm
};

/// More series than this are drawn as a band from the lowest to the highest, with the median.
inline constexpr std::size_t kMaxLines = 8;

/// The number of lines that the chart draws.
[[nodiscard]] std::size_t lines_of(std::size_t series);

/// The style sheet's class of a phase.
[[nodiscard]] std::string_view phase_class(std::string_view name) noexcept;

/// The frame of a chart: title, drawing, legend.
struct ChartFrame {
  std::string title = {};  ///< with unit and stat; "": no caption
  std::string unit = {};
  std::string stat = {};
  std::string label;  ///< description of the drawing, for readers who cannot see it
  page::Html drawing;
  double height = 0;       ///< pixels
  page::Html legend = {};  ///< its items
  std::string css = {};    ///< class of the figure, beside "chart"
  std::string frame = {};  ///< class of the drawing, beside "frame"
  /// For the values under the pointer: the end of the time axis and the ends of the other one.
  struct Extent {
    double end_s;
    double low;
    double high;
  };
  std::optional<Extent> extent = {};
};
[[nodiscard]] page::Html render_frame(const ChartFrame& frame);

/// Empty when no series has a finite point.
[[nodiscard]] page::Html render_chart(const Chart& chart);

/// At most `max_points` points; every kept stretch contributes its first, lowest, highest and last
/// point, so that spikes stay. Points without a value (NaN) break the line; those without a time
/// are left out.
[[nodiscard]] std::vector<judge::Point> thin(const std::vector<judge::Point>& points,
                                             std::size_t max_points);

/// Bars of relative speed, one per rank, the slow ones marked. Empty when no rank has one.
[[nodiscard]] page::Html render_rank_speeds(const judge::RoundResult& round);

}  // namespace assay::report
