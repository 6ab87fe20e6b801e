#include "report/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "page/template.h"
#include "report/axis.h"
#include "report/chart_band.h"
#include "report/chart_parts.h"
#include "report/present.h"
#include "report/report_assets.h"

namespace assay::report {

using page::Html;
using page::markup;

namespace {

using judge::Phase;
using judge::Point;
using judge::Series;

constexpr double kHeight = 168;  // of the plot, in pixels; its width is the page's
constexpr std::size_t kMaxPhases = 200;

bool finite(const Point& point) {
  return std::isfinite(point.t_s) && std::isfinite(point.value);
}

// Lines are interrupted where samples are missing, so that a gap in the evidence is visible.
double gap_of(const std::vector<Point>& points) {
  if (points.size() < 4) return std::numeric_limits<double>::infinity();
  std::vector<double> steps;
  for (std::size_t i = 1; i < points.size(); ++i)
    steps.push_back(points[i].t_s - points[i - 1].t_s);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, middle);
  return std::max(*middle * 8, 1e-9);
}

std::string path_of(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::string d;
  const double gap = gap_of(points);
  const auto broken_before = [&](std::size_t i) {
    return i == 0 || i == points.size() || !finite(points[i - 1]) || !finite(points[i]) ||
           points[i].t_s - points[i - 1].t_s > gap;
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!finite(points[i])) continue;
    const bool starts = broken_before(i);
    const bool alone = starts && broken_before(i + 1);
    d += starts ? "M" : " ";
    d += coordinate(x.at(points[i].t_s) * kUnits) + "," +
         coordinate((1 - y.at(points[i].value)) * kUnits);
    if (alone) d += "h0";
  }
  return d;
}

std::string band_path(const Band& band, const Axis& x, const Axis& y) {
  std::string d;
  const auto add = [&](const Point& point) {
    d += d.empty() ? "M" : " ";
    d += coordinate(x.at(point.t_s) * kUnits) + "," + coordinate((1 - y.at(point.value)) * kUnits);
  };
  std::ranges::for_each(band.high, add);
  std::for_each(band.low.rbegin(), band.low.rend(), add);
  return d + "Z";
}

struct Extent {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double sum = 0;
  std::size_t count = 0;
  double last = 0;

  void add(const Point& point) {
    low = std::min(low, point.value);
    high = std::max(high, point.value);
    sum += point.value;
    ++count;
    last = point.value;
  }
};

Axis value_axis(const Chart& chart, const Extent& extent, double factor) {
  const bool percent = chart.unit == "%" || chart.unit == "ratio";
  double lowest = extent.low;
  double highest = extent.high;
  for (const judge::Level& level : chart.levels) {
    lowest = std::min(lowest, level.value);
    highest = std::max(highest, level.value);
  }
  const double low = lowest * factor;
  const double high = highest * factor;
  if (percent && low >= 0 && high <= 100.5) return {0, 100, {0, 25, 50, 75, 100}};
  // The axis includes zero, except for values that vary little far away from it (a loss).
  const bool from_zero = low >= 0 && (chart.series[0]->name != "loss" || low < high * 0.4);
  return nice_axis(from_zero ? 0 : low, high, 4);
}

struct PhaseMarkup {
  Html areas;
  Html labels;  // above the lines
};

PhaseMarkup phases_svg(const Chart& chart, const Axis& x) {
  PhaseMarkup out;
  std::size_t drawn = 0;
  double free_from = 0;  // labels of overlapping phases would cover each other
  for (const Phase& phase : chart.phases) {
    if (!std::isfinite(phase.start_s) || !std::isfinite(phase.end_s)) continue;
    const double start = x.at(phase.start_s);
    const double width = x.at(phase.end_s) - start;
    if (!(width > 0) || ++drawn > kMaxPhases) continue;
    out.areas += markup(
        "<rect class=\"ph {}\" x=\"{}\" width=\"{}\" y=\"0\" height=\"{}\"><title>{}: {} – {}"
        "</title></rect>",
        phase_class(phase.name), percent(start), percent(width), kHeight, phase.name,
        show(phase.start_s, "s").text(), show(phase.end_s, "s").text());
    const double needed = 0.01 + 0.0145 * static_cast<double>(phase.name.size());
    if (width >= needed && start >= free_from) {
      out.labels += markup("<text class=\"ph-name\" x=\"{}\" dx=\"5\" y=\"13\">{}</text>",
                           percent(start), phase.name);
      free_from = start + needed;
    }
  }
  return out;
}

Html time_grid(const Axis& x) {
  Html out;
  for (const double tick : x.ticks) out += x_tick(x.at(tick), kHeight, time_text(tick, x));
  return out;
}

Html line_svg(std::string_view style, const std::string& label, const std::string& d) {
  return markup("<path class=\"s {}\" data-label=\"{}\" d=\"{}\"/>", style, label, d);
}

// A few points are marked individually: each is an evaluation.
constexpr std::size_t kMaxDots = 40;

std::string dots_of(const std::vector<Point>& points, const Axis& x, const Axis& y) {
  std::string d;
  for (const Point& point : points)
    if (finite(point))
      d += fmt::format("M{},{}h0", coordinate(x.at(point.t_s) * kUnits),
                       coordinate((1 - y.at(point.value)) * kUnits));
  return d;
}

std::string_view level_class(const judge::Level& level) {
  return level.name == "target" ? "level target" : "level";
}

Html level_svg(const judge::Level& level, const Axis& y) {
  const std::string at = coordinate((1 - y.at(level.value)) * kHeight);
  return markup("<line class=\"{}\" x1=\"0\" x2=\"100%\" y1=\"{}\" y2=\"{}\"/>", level_class(level),
                at, at);
}

Html level_item(const judge::Level& level, const std::string& unit) {
  return markup("<li><i class=\"{}\"></i>{} {}</li>", level_class(level), level.name,
                show(level.value, unit).text());
}

}  // namespace

std::string_view phase_class(std::string_view name) noexcept {
  if (name == "init") return "ph-init";
  if (name == "train") return "ph-train";
  if (name.starts_with("steady")) return "ph-steady";
  if (name == "evaluate" || name == "eval") return "ph-evaluate";
  return "ph-other";
}

std::size_t lines_of(std::size_t series) {
  return series > kMaxLines ? 3 : series;
}

std::vector<Point> thin(const std::vector<Point>& points, std::size_t max_points) {
  // A single point of a run without values is enough to interrupt the line.
  std::vector<Point> clean;
  for (const Point& point : points)
    if (finite(point) || (std::isfinite(point.t_s) && !clean.empty() && finite(clean.back())))
      clean.push_back(point);
  if (!clean.empty() && !finite(clean.back())) clean.pop_back();
  if (clean.size() <= max_points || max_points < 4) {
    if (clean.size() > max_points) clean.resize(max_points);
    return clean;
  }
  std::vector<Point> out;
  const std::size_t stretches = max_points / 4;
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = clean.size() * i / stretches;
    const std::size_t end = clean.size() * (i + 1) / stretches;
    std::size_t low = begin;
    std::size_t high = begin;
    std::optional<std::size_t> broken;
    for (std::size_t k = begin; k < end; ++k) {
      if (!finite(clean[k])) broken = k;
      if (!(clean[k].value >= clean[low].value)) low = finite(clean[k]) ? k : low;
      if (!(clean[k].value <= clean[high].value)) high = finite(clean[k]) ? k : high;
    }
    std::vector<std::size_t> kept{begin, low, high, broken.value_or(end - 1)};
    std::ranges::sort(kept);
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t k : kept)
      if (out.empty() || clean[k].t_s >= out.back().t_s) out.push_back(clean[k]);
  }
  return out;
}

Html render_frame(const ChartFrame& frame) {
  const auto number = [&](double ChartFrame::Extent::*part) {
    return frame.extent ? fmt::format("{}", (*frame.extent).*part) : std::string();
  };
  return page::fill(assets::kChart, {{"class", frame.css},
                                     {"end", number(&ChartFrame::Extent::end_s)},
                                     {"low", number(&ChartFrame::Extent::low)},
                                     {"high", number(&ChartFrame::Extent::high)},
                                     {"title", frame.title},
                                     {"unit", frame.unit},
                                     {"stat", frame.stat},
                                     {"frame", frame.frame},
                                     {"label", frame.label},
                                     {"height", fmt::format("{}", frame.height)},
                                     {"drawing", frame.drawing},
                                     {"legend", frame.legend}});
}

Html render_chart(const Chart& chart) {
  Extent extent;
  double end_s = chart.end_s;
  for (const Series* series : chart.series) {
    for (const Point& point : series->points) {
      if (!finite(point)) continue;
      extent.add(point);
      end_s = std::max(end_s, point.t_s);
    }
  }
  const catalog::KnownSeries* known = catalog::find_known_series(chart.series[0]->name);
  const bool last = known != nullptr && known->last;
  // A loss that is 0 from the first to the last step was not computed.
  const bool nothing = chart.series[0]->name == "loss" && extent.low == 0 && extent.high == 0;
  if (extent.count == 0 || nothing) return {};
  const AxisUnit unit =
      axis_unit(chart.unit, std::max(std::abs(extent.low), std::abs(extent.high)));
  const Axis x = time_axis(end_s, 5);
  const Axis y = value_axis(chart, extent, unit.factor);
  // Values are scaled only in the drawing, so that ticks are round in the displayed unit.
  Axis raw = y;
  raw.low /= unit.factor;
  raw.high /= unit.factor;

  Html lines;
  Html legend;
  const auto draw = [&](std::size_t i, const std::string& style) {
    const auto points = thin(chart.series[i]->points, chart.max_points);
    if (points.empty()) return;
    lines += line_svg(style, chart.series[i]->label, path_of(points, x, raw));
    if (known == nullptr && points.size() <= kMaxDots)
      lines += markup("<path class=\"dots {}\" d=\"{}\"/>", style, dots_of(points, x, raw));
    legend += legend_item("k " + style, chart.series[i]->label);
  };
  if (chart.series.size() > kMaxLines) {
    const Band band = band_of(chart.series, x.high, chart.max_points / 2);
    lines += markup("<path class=\"band\" d=\"{}\"/>", band_path(band, x, raw));
    lines += line_svg("edge", "highest", path_of(band.high, x, raw));
    lines += line_svg("s0", "median", path_of(band.median, x, raw));
    lines += line_svg("edge", "lowest", path_of(band.low, x, raw));
    legend = legend_item("k s0", fmt::format("median of {}", chart.series.size())) +
             legend_item("k-band", "lowest to highest");
  } else {
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      if (i != chart.odd) draw(i, chart.odd ? "calm" : fmt::format("s{}", i));
  }
  if (chart.odd) draw(*chart.odd, "odd");
  for (const judge::Level& level : chart.levels) legend += level_item(level, chart.unit);
  const double mean = extent.sum / static_cast<double>(extent.count);
  const std::string stat = fmt::format(fmt::runtime(last ? "last {}" : "mean {}"),
                                       show(last ? extent.last : mean, chart.unit).text());
  const std::string label =
      fmt::format("{} over {}: {} to {}, {}; {} series", chart.title, show(x.high, "s").text(),
                  show(extent.low, chart.unit).text(), show(extent.high, chart.unit).text(), stat,
                  chart.series.size());

  const PhaseMarkup phases = phases_svg(chart, x);
  Html levels;
  for (const judge::Level& level : chart.levels) levels += level_svg(level, raw);
  return render_frame({.title = chart.title,
                       .unit = unit.unit,
                       .stat = stat,
                       .label = label,
                       .drawing = phases.areas + value_grid(y, kHeight) + time_grid(x) + levels +
                                  stretched(lines, kHeight) + phases.labels,
                       .height = kHeight,
                       .legend = legend,
                       .extent = ChartFrame::Extent{x.high, y.low, y.high}});
}

Html render_rank_speeds(const judge::RoundResult& round) {
  struct Bar {
    int rank;
    double speed;
  };
  std::vector<Bar> bars;
  for (const judge::RankResult& rank : round.ranks)
    if (rank.relative_speed && std::isfinite(*rank.relative_speed) && *rank.relative_speed > 0)
      bars.push_back({rank.rank, *rank.relative_speed});
  if (bars.size() < 2) return {};
  double highest = 1;
  for (const Bar& bar : bars) highest = std::max(highest, bar.speed);
  const Axis y = nice_axis(0, std::min(highest, 3.0), 3);
  const double slot = kUnits / static_cast<double>(bars.size());
  const double gap = bars.size() > 160 ? 0 : slot * 0.25;
  std::string normal;
  std::string slow;
  std::string behind;  // the column behind a slow rank shows it even if it is a hair wide
  std::size_t slow_count = 0;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double left = static_cast<double>(i) * slot + gap / 2;
    const double top = (1 - y.at(bars[i].speed)) * kUnits;
    const bool is_slow = bars[i].speed < 0.95;
    slow_count += is_slow ? 1 : 0;
    if (is_slow) {
      const double room = std::max(0.0, 6 - slot) / 2;
      behind += fmt::format("M{},{}V0H{}V{}Z", coordinate(left - room), coordinate(kUnits),
                            coordinate(left + slot - gap + room), coordinate(kUnits));
    }
    (is_slow ? slow : normal) +=
        fmt::format("M{},{}V{}H{}V{}Z", coordinate(left), coordinate(kUnits), coordinate(top),
                    coordinate(left + slot - gap), coordinate(kUnits));
  }
  const double height = 96;
  const Html drawing = markup(
      "<path class=\"bar\" d=\"{}\"/><path class=\"bar behind\" d=\"{}\"/><path "
      "class=\"bar slow\" d=\"{}\"/>",
      normal, behind, slow);
  const Html ends = markup(
      "<text class=\"tick\" x=\"0\" y=\"{0}\">rank {1}</text><text class=\"tick\" x=\"100%\" "
      "y=\"{0}\" text-anchor=\"end\">rank {2}</text>",
      height + 17, bars.front().rank, bars.back().rank);
  return render_frame(
      {.title = "Speed of the ranks",
       .unit = "1 = median rank",
       .stat = slow_count == 0 ? "no straggler" : fmt::format("{} slower than 0.95", slow_count),
       .label = fmt::format("Relative speed of {} ranks, {} below 0.95", bars.size(), slow_count),
       .drawing = value_grid(y, height) + ends + stretched(drawing, height),
       .height = height,
       .css = "ranks-chart"});
}

}  // namespace assay::report
