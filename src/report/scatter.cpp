#include "report/scatter.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/text.h"
#include "report/axis.h"
#include "report/chart.h"
#include "report/chart_parts.h"
#include "report/present.h"

namespace assay::report {

using page::Html;
using page::markup;

namespace {

constexpr double kScatterHeight = 260;

struct Scale {
  Axis axis;  // in the displayed unit
  AxisUnit unit;

  [[nodiscard]] double at(double value) const { return axis.at(value * unit.factor); }
};

Scale scale_of(const Scatter& scatter, const Scatter::Quantity& quantity,
               double Scatter::Point::*part) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Scatter::Point& point : scatter.points) {
    low = std::min(low, point.*part);
    high = std::max(high, point.*part);
  }
  Scale out;
  out.unit = axis_unit(quantity.unit, std::max(std::abs(low), std::abs(high)));
  low *= out.unit.factor;
  high *= out.unit.factor;
  // The axis includes zero, unless the points would then be in a corner of the plot.
  const bool from_zero = low >= 0 && low < high * 0.7;
  const double room = (high - low) * 0.08;
  out.axis = nice_axis(from_zero ? 0 : low - room, high + room, 5);
  return out;
}

Html scatter_grid(const Scale& x, const Scale& y) {
  Html out = value_grid(y.axis, kScatterHeight);
  for (const double tick : x.axis.ticks)
    out += x_tick(x.axis.at(tick), kScatterHeight, tick_text(tick, x.axis));
  return out;
}

Html front_line(const Scatter& scatter, const Scale& x, const Scale& y) {
  std::vector<const Scatter::Point*> front;
  for (const Scatter::Point& point : scatter.points)
    if (point.front) front.push_back(&point);
  std::ranges::sort(front, {},
                    [](const Scatter::Point* point) { return std::pair(point->x, point->y); });
  Html out;
  for (std::size_t i = 1; i < front.size(); ++i)
    out += markup("<line class=\"front\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>",
                  percent(x.at(front[i - 1]->x)), (1 - y.at(front[i - 1]->y)) * kScatterHeight,
                  percent(x.at(front[i]->x)), (1 - y.at(front[i]->y)) * kScatterHeight);
  return out;
}

// Keeps only the first of names that would overlap; the pointer shows them all.
void drop_crowded_names(std::vector<Scatter::Point>& points, const Scale& x, const Scale& y) {
  constexpr double kAcross = 0.2;  // of the width: a name's size on a phone
  constexpr double kDown = 14;     // the height of a line
  std::vector<std::pair<double, double>> taken;
  for (Scatter::Point& point : points) {
    if (point.name.empty()) continue;
    const std::pair place(x.at(point.x), (1 - y.at(point.y)) * kScatterHeight);
    if (std::ranges::any_of(taken, [&](const std::pair<double, double>& other) {
          return std::abs(other.first - place.first) < kAcross &&
                 std::abs(other.second - place.second) < kDown;
        }))
      point.name.clear();
    else
      taken.push_back(place);
  }
}

Html point_of(const Scatter::Point& point, const Scale& x, const Scale& y) {
  const double across_share = x.at(point.x);
  const double down = (1 - y.at(point.y)) * kScatterHeight;
  Html dot = markup(
      "<circle class=\"point{}\" cx=\"{}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title>"
      "</circle>",
      point.front ? " on" : "", percent(across_share), down, point.front ? 6 : 4.5,
      ellipsize(point.label, 300));
  if (!point.name.empty())
    dot += markup(
        "<text class=\"name\" x=\"{}\" dx=\"{}\" y=\"{:.1f}\" text-anchor=\"{}\">{}"
        "</text>",
        percent(across_share), across_share > 0.7 ? -9 : 9, down - 7,
        across_share > 0.7 ? "end" : "start", ellipsize(point.name, 24));
  return point.link.empty() ? dot : markup("<a href=\"{}\">{}</a>", point.link, dot);
}

}  // namespace

Html render_scatter(const Scatter& given) {
  Scatter scatter = given;
  std::erase_if(scatter.points, [](const Scatter::Point& point) {
    return !std::isfinite(point.x) || !std::isfinite(point.y);
  });
  if (scatter.points.empty()) return {};
  const Scale x = scale_of(scatter, scatter.x, &Scatter::Point::x);
  const Scale y = scale_of(scatter, scatter.y, &Scatter::Point::y);
  drop_crowded_names(scatter.points, x, y);
  Html drawing = scatter_grid(x, y) + front_line(scatter, x, y);
  // Marked points are drawn on top.
  for (const bool front : {false, true})
    for (const Scatter::Point& point : scatter.points)
      if (point.front == front) drawing += point_of(point, x, y);
  const auto of = [](const Scatter::Quantity& quantity, const Scale& scale) {
    return quantity.title + (scale.unit.unit.empty() ? "" : ", " + scale.unit.unit);
  };
  Html legend;
  if (!scatter.front.empty())
    legend += markup("<li><i class=\"dot on\"></i>{}</li>", scatter.front);
  if (!scatter.other.empty()) legend += markup("<li><i class=\"dot\"></i>{}</li>", scatter.other);
  return render_frame(
      {.title = scatter.title,
       .unit = fmt::format("↑ {}   → {}", of(scatter.y, y), of(scatter.x, x)),
       .label = fmt::format("{}: {} against {}, {}", scatter.title, scatter.y.title,
                            scatter.x.title, counted(scatter.points.size(), "point")),
       .drawing = drawing,
       .height = kScatterHeight,
       .legend = legend,
       .css = "scatter"});
}

}  // namespace assay::report
