#include "report/trend_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/axis.h"
#include "report/chart.h"
#include "report/chart_parts.h"
#include "report/present.h"

namespace assay::report {

using page::Html;
using page::markup;

namespace {

constexpr double kTrendHeight = 190;
constexpr std::size_t kMostDots = 400;
constexpr std::size_t kMaxDays = 6;

/// Neighboring points drawn as one.
std::vector<TrendChart::Point> thinned(const std::vector<TrendChart::Point>& points) {
  if (points.size() <= kMostDots) return points;
  std::vector<TrendChart::Point> out;
  for (std::size_t i = 0; i < kMostDots; ++i) {
    const std::size_t first = points.size() * i / kMostDots;
    const std::size_t end = points.size() * (i + 1) / kMostDots;
    std::vector<double> values;
    TrendChart::Point one = points[first];
    for (std::size_t k = first; k < end; ++k) {
      values.push_back(points[k].value);
      one.low = std::min(one.low, points[k].low);
      one.high = std::max(one.high, points[k].high);
    }
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    one.value = *middle;
    one.title = fmt::format("{} runs from {}", end - first, one.title);
    one.link.clear();
    out.push_back(std::move(one));
  }
  return out;
}

class TrendDrawing {
 public:
  explicit TrendDrawing(const TrendChart& chart) : chart_(chart), points_(thinned(chart.points)) {
    double low = points_[0].low;
    double high = points_[0].high;
    for (const TrendChart::Point& point : points_) {
      low = std::min({low, point.low, point.value});
      high = std::max({high, point.high, point.value});
    }
    unit_ = axis_unit(chart.unit, std::max(std::abs(low), std::abs(high)));
    // A change of a few percent must show: zero is included only if values come near it.
    const double margin = (high - low) * 0.15;
    const bool near_zero = low >= 0 && low < high * 0.4;
    axis_ =
        nice_axis((near_zero ? 0 : low - margin) * unit_.factor, (high + margin) * unit_.factor, 4);
    raw_ = axis_;
    raw_.low /= unit_.factor;
    raw_.high /= unit_.factor;
  }

  [[nodiscard]] const std::string& unit() const { return unit_.unit; }

  [[nodiscard]] Html svg() const {
    Html out = value_grid(axis_, kTrendHeight) + days() + marks();
    out += stretched(lines(), kTrendHeight);
    return out + dots();
  }

 private:
  // As a fraction of the drawing's width; `at` counts all points, not groups of them.
  [[nodiscard]] double x(double at) const {
    const double count = static_cast<double>(chart_.points.size());
    return (at + 0.5) / count;
  }
  [[nodiscard]] double x_of_drawn(std::size_t i) const {
    return (static_cast<double>(i) + 0.5) / static_cast<double>(points_.size());
  }
  [[nodiscard]] double y(double value) const { return 1 - raw_.at(value); }

  [[nodiscard]] Html days() const {
    Html out;
    const std::size_t count = std::min(points_.size(), kMaxDays);
    std::string last;
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = count == 1 ? 0 : (points_.size() - 1) * i / (count - 1);
      if (points_[at].day == last) continue;
      last = points_[at].day;
      const double share = x_of_drawn(at);
      const std::string_view anchor = count > 1 && share < 0.06   ? "start"
                                      : count > 1 && share > 0.94 ? "end"
                                                                  : "middle";
      // A narrow screen has room for three.
      out += markup(
          "<line class=\"mark\" x1=\"{0:.4g}%\" x2=\"{0:.4g}%\" y1=\"{1}\" y2=\"{2}\"/>"
          "<text class=\"tick{6}\" x=\"{0:.4g}%\" y=\"{3}\" text-anchor=\"{4}\">{5}</text>",
          share * 100, kTrendHeight, kTrendHeight + 4, kTrendHeight + 17, anchor, last,
          i > 0 && i + 1 < count && i != (count - 1) / 2 ? std::string_view(" wide-only")
                                                         : std::string_view());
    }
    return out;
  }

  [[nodiscard]] Html marks() const {
    Html out;
    for (const TrendChart::Mark& mark : chart_.marks)
      out += markup(
          "<line class=\"change {0}\" x1=\"{1:.4g}%\" x2=\"{1:.4g}%\" y1=\"0\" "
          "y2=\"{2}\"><title>{3}</title></line>",
          mark.css, x(static_cast<double>(mark.at) - 0.5) * 100, kTrendHeight, mark.title);
    return out;
  }

  [[nodiscard]] Html lines() const {
    std::string line;
    std::string above;
    std::string below;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const double at = x_of_drawn(i) * kUnits;
      line += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "M" : " ", at, y(points_[i].value) * kUnits);
      above += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "M" : " ", at, y(points_[i].high) * kUnits);
      below = fmt::format(" {:.1f},{:.1f}", at, y(points_[i].low) * kUnits) + below;
    }
    Html out = markup("<path class=\"band\" d=\"{}\"/><path class=\"s s0 thin\" d=\"{}\"/>",
                      above + below + "Z", line);
    for (const TrendChart::Stretch& level : chart_.levels)
      out += markup("<path class=\"s level-line\" d=\"M{:.1f},{:.1f}H{:.1f}\"/>",
                    x(static_cast<double>(level.first) - 0.5) * kUnits, y(level.level) * kUnits,
                    x(static_cast<double>(level.end) - 0.5) * kUnits);
    return out;
  }

  [[nodiscard]] Html dots() const {
    Html out;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const Html dot = markup(
          "<circle class=\"dot\" cx=\"{:.4g}%\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>",
          x_of_drawn(i) * 100, y(points_[i].value) * kTrendHeight, points_.size() > 120 ? 1.6 : 3.0,
          points_[i].title);
      out += points_[i].link.empty() ? dot : markup("<a href=\"{}\">{}</a>", points_[i].link, dot);
    }
    return out;
  }

  const TrendChart& chart_;
  std::vector<TrendChart::Point> points_;
  AxisUnit unit_;
  Axis axis_;
  Axis raw_;
};

}  // namespace

Html render_trend(const TrendChart& chart) {
  if (chart.points.empty()) return {};
  const TrendDrawing drawing(chart);
  Html legend = markup(
      "<li><i class=\"k s0\"></i>median of the rounds</li><li><i class=\"k-band\"></i>lowest to "
      "highest round</li>");
  if (!chart.levels.empty())
    legend += markup("<li><i class=\"level-line\"></i>level between changes</li>");
  for (const auto& [css, text] :
       {std::pair{"worse", "change for the worse"}, std::pair{"better", "change for the better"},
        std::pair{"changed", "change"}})
    if (std::ranges::find(chart.marks, css, &TrendChart::Mark::css) != chart.marks.end())
      legend += markup("<li><i class=\"change {}\"></i>{}</li>", std::string_view(css),
                       std::string_view(text));
  return render_frame({.title = chart.title,
                       .unit = drawing.unit(),
                       .stat = chart.stat,
                       .label = fmt::format("{} over {} runs, {} changes", chart.title,
                                            chart.points.size(), chart.marks.size()),
                       .drawing = drawing.svg(),
                       .height = kTrendHeight,
                       .legend = legend,
                       .css = "trend"});
}

}  // namespace assay::report
