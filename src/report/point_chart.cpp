#include "report/point_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "report/axis.h"
#include "report/chart.h"
#include "report/chart_parts.h"
#include "report/present.h"

namespace assay::report {

using page::Html;
using page::markup;

namespace {

constexpr double kPlotHeight = 200;
constexpr double kSideRoom = 0.04;  // of the width, so that no point is on the frame

bool is_drawn(const PlotPoint& point) {
  return point.y && std::isfinite(*point.y);
}

// A point's position as a fraction of the width.
class PlotAxis {
 public:
  explicit PlotAxis(const PointChart& chart) {
    for (const PlotLine& line : chart.lines)
      for (const PlotPoint& point : line.points) {
        low_ = std::min(low_, point.x);
        high_ = std::max(high_, point.x);
      }
  }
  [[nodiscard]] double at(double x) const {
    if (!(high_ > low_)) return 0.5;
    return kSideRoom + (1 - 2 * kSideRoom) * (x - low_) / (high_ - low_);
  }

 private:
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

struct Drawn {
  Html lines;    // in the stretched drawing
  Html crosses;  // in the frame
};

void draw_line(const PlotLine& line, const std::string& style, const PlotAxis& x, const Axis& y,
               Drawn& out) {
  std::string d;
  bool broken = true;
  Html dots;
  for (const PlotPoint& point : line.points) {
    if (!is_drawn(point)) {
      broken = true;
      out.crosses += markup(
          "<text class=\"cross-mark\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">✗"
          "<title>{}</title></text>",
          percent(x.at(point.x)), kPlotHeight - 5, point.title);
      continue;
    }
    const std::string place =
        coordinate(x.at(point.x) * kUnits) + "," + coordinate((1 - y.at(*point.y)) * kUnits);
    d += (broken ? "M" : " ") + place;
    broken = false;
    dots += markup("<path class=\"dots{} {}\" d=\"M{}h0\"><title>{}</title></path>",
                   point.marked ? " best" : "", style, place, point.title);
  }
  if (!d.empty()) out.lines += markup("<path class=\"s {}\" d=\"{}\"/>", style, d) + dots;
}

Html x_ticks(const PointChart& chart, const PlotAxis& x) {
  Html out;
  for (const auto& [value, text] : chart.ticks) out += x_tick(x.at(value), kPlotHeight, text);
  return out;
}

}  // namespace

Html render_point_chart(const PointChart& chart) {
  double lowest = 0;
  double highest = -std::numeric_limits<double>::infinity();
  const auto take = [&](const PlotLine& line) {
    for (const PlotPoint& point : line.points)
      if (is_drawn(point)) {
        lowest = std::min(lowest, *point.y);
        highest = std::max(highest, *point.y);
      }
  };
  std::ranges::for_each(chart.lines, take);
  if (!std::isfinite(highest)) return {};
  if (chart.ideal) take(*chart.ideal);
  const AxisUnit unit = axis_unit(chart.unit, std::max(std::abs(lowest), std::abs(highest)));
  const Axis y = nice_axis(lowest * unit.factor, highest * unit.factor, 4);
  Axis raw = y;
  raw.low /= unit.factor;
  raw.high /= unit.factor;
  const PlotAxis x(chart);
  Drawn drawn;
  Html legend;
  if (chart.ideal) {
    std::string d;
    for (const PlotPoint& point : chart.ideal->points)
      d += (d.empty() ? "M" : " ") + coordinate(x.at(point.x) * kUnits) + "," +
           coordinate((1 - raw.at(point.y.value_or(0))) * kUnits);
    drawn.lines += markup("<path class=\"s ideal\" d=\"{}\"/>", d);
  }
  for (std::size_t i = 0; i < std::min(chart.lines.size(), kMaxLines); ++i) {
    const std::string style = fmt::format("s{}", i);
    draw_line(chart.lines[i], style, x, raw, drawn);
    if (!chart.lines[i].label.empty()) legend += legend_item("k " + style, chart.lines[i].label);
  }
  if (chart.ideal) legend += legend_item("level target", chart.ideal->label);
  if (!drawn.crosses.empty())
    legend += markup("<li><b class=\"cross-key\">✗</b>{}</li>", "no VALID result");
  const std::string shown_unit = unit.unit == "1" ? "" : unit.unit;
  return render_frame(
      {.title = chart.title,
       .unit = chart.x_title.empty()
                   ? shown_unit
                   : shown_unit + (shown_unit.empty() ? "" : " ") + "over " + chart.x_title,
       .stat = chart.stat,
       .label = chart.label,
       .drawing = value_grid(y, kPlotHeight) + x_ticks(chart, x) +
                  stretched(drawn.lines, kPlotHeight) + drawn.crosses,
       .height = kPlotHeight,
       .legend = legend,
       .css = "points-chart"});
}

}  // namespace assay::report
