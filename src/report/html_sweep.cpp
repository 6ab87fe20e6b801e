#include "report/html_sweep.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "page/template.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/point_chart.h"
#include "report/present.h"
#include "report/report_assets.h"
#include "report/sweep_view.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

using judge::CaseResult;
using judge::Summary;

constexpr std::size_t kHeatColumns = 16;
constexpr std::size_t kHeatRows = 64;
constexpr int kHeatSteps = 8;

std::optional<double> valid_value(const SweepView& view, const CaseResult& point) {
  if (point.validity != judge::Validity::valid || point.skipped) return std::nullopt;
  const Summary* summary = find_summary(point, view.grid->headline);
  return summary == nullptr || !std::isfinite(summary->median) ? std::nullopt
                                                               : std::optional(summary->median);
}

std::string value_words(const SweepView& view, const CaseResult& point) {
  const Summary* summary = find_summary(point, view.grid->headline);
  return valid_value(view, point) ? median_text(point, *summary) : verdict_words(point);
}

// The x axis is the one with most values, numeric ones first; the others become separate lines.
std::size_t axis_along(const plan::Sweep& sweep) {
  const auto rank = [&](std::size_t i) {
    const auto& values = sweep.dimensions[i].values;
    const bool numbers =
        std::ranges::all_of(values, [](const Json& value) { return value.is_number(); });
    return std::pair(values.size() > 1 && numbers, values.size());
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < sweep.dimensions.size(); ++i)
    if (rank(i) > rank(best)) best = i;
  return best;
}

Html value_chart(const SweepView& view) {
  const plan::Sweep& sweep = view.grid->sweep;
  const std::size_t along = axis_along(sweep);
  const auto& values = sweep.dimensions[along].values;
  if (values.size() < 2 || !view.best) return {};
  PointChart chart;
  chart.title = metric_title(view.grid->headline);
  chart.unit = view.best->summary->info.unit;
  chart.x_title = sweep.dimensions[along].label;
  chart.stat = "best " + median_text(*view.best->point, *view.best->summary);
  // Values are spaced evenly, whatever they are: what matters is which one is better.
  const std::size_t every = (values.size() + 11) / 12;
  for (std::size_t i = 0; i < values.size(); i += every)
    chart.ticks.emplace_back(static_cast<double>(i), ellipsize(axis_value_text(values[i]), 12));
  for (const CaseResult* point : view.points) {
    std::vector<std::string> rest;
    for (std::size_t i = 0; i < sweep.dimensions.size(); ++i)
      if (i != along)
        rest.push_back(sweep.dimensions[i].label + "=" + axis_value_text(point->sweep->values[i]));
    const std::string label = join(rest, ", ");
    auto line = std::ranges::find(chart.lines, label, &PlotLine::label);
    if (line == chart.lines.end()) line = chart.lines.insert(chart.lines.end(), PlotLine{label});
    const auto at = std::ranges::find(values, point->sweep->values[along]);
    line->points.push_back({static_cast<double>(at - values.begin()), valid_value(view, *point),
                            place_text(view, *point) + ": " + value_words(view, *point),
                            view.best->point == point});
  }
  if (chart.lines.size() > kMaxLines) return {};
  for (PlotLine& line : chart.lines) std::ranges::stable_sort(line.points, {}, &PlotPoint::x);
  chart.label = fmt::format("{} over {}: {}", chart.title, chart.x_title,
                            best_text(view, *view.best, "Best by"));
  return render_point_chart(chart);
}

Html scaling_chart(const SweepView& view) {
  if (view.scaling.empty() || view.scaling.size() > kMaxLines) return {};
  PointChart chart;
  chart.title = "Speed-up";
  chart.unit = "1";
  chart.x_title = "ranks";
  double fewest = view.scaling[0].base_ranks;
  double most = fewest;
  std::vector<int> shown;
  for (const ScalingLine& line : view.scaling) {
    PlotLine drawn{line.label};
    for (const ScalingPoint& one : line.points) {
      const std::string words = one.speedup ? fmt::format("{:.2f}×, efficiency {}", *one.speedup,
                                                          show_percent(*one.efficiency))
                                            : verdict_words(*one.point);
      drawn.points.push_back({static_cast<double>(one.ranks), one.speedup,
                              place_text(view, *one.point) + ": " + words});
      fewest = std::min(fewest, static_cast<double>(one.ranks));
      most = std::max(most, static_cast<double>(one.ranks));
      if (std::ranges::find(shown, one.ranks) == shown.end()) shown.push_back(one.ranks);
    }
    chart.lines.push_back(std::move(drawn));
  }
  std::ranges::sort(shown);
  double last = -most;
  for (const int ranks : shown) {
    if (ranks - last < (most - fewest) / 14) continue;  // labels would cover each other
    chart.ticks.emplace_back(ranks, std::to_string(ranks));
    last = ranks;
  }
  const double base = view.scaling[0].base_ranks;
  chart.ideal = PlotLine{"ideal", {{base, 1.0, ""}, {most, most / base, ""}}};
  chart.label = join(sweep_sentences(view), ". ");
  return render_point_chart(chart);
}

// Two axes as a table in which better cells are darker.
Html heat_map(const SweepView& view) {
  const auto& axes = view.grid->sweep.dimensions;
  if (!fits_matrix(view, kHeatColumns) || axes[0].values.size() > kHeatRows || !view.best)
    return {};
  double worst = view.best->summary->median;
  for (const CaseResult* point : view.points)
    if (const auto value = valid_value(view, *point))
      worst = view.best->summary->info.better == Better::higher ? std::min(worst, *value)
                                                                : std::max(worst, *value);
  const double range = std::abs(view.best->summary->median - worst);
  page::Table table = sweep_matrix(view);
  for (std::size_t row = 0; row < table.rows.size(); ++row)
    for (std::size_t column = 1; column < table.rows[row].cells.size(); ++column) {
      page::Cell& cell = table.rows[row].cells[column];
      const CaseResult* point = view.at({axes[0].values[row], axes[1].values[column - 1]});
      if (point == nullptr) {
        cell = page::Cell("·", "heat none", "not a point of the sweep");
        continue;
      }
      const auto value = valid_value(view, *point);
      const double share =
          !value || range == 0 ? 1 : 1 - std::abs(view.best->summary->median - *value) / range;
      const bool best = view.best->point == point;
      cell = page::Cell(
          value_words(view, *point),
          !value ? "heat " + std::string(point->skipped ? "skipped" : css_class(point->validity))
                 : fmt::format("heat h{}{}", std::lround(share * kHeatSteps), best ? " best" : ""),
          point->name);
    }
  return markup("<div class=\"heatmap\"><p class=\"heat-title\"><b>{}</b> {}</p>{}</div>\n",
                metric_title(view.grid->headline), "darker is better, the best is framed",
                page::scrolling(page::to_html(table, {.css = "heat"})));
}

Html one_sweep(const judge::RunResult& result, const SweepView& view, std::size_t number) {
  Html sentences;
  for (const std::string& text : sweep_sentences(view)) sentences += markup("<li>{}.</li>", text);
  const Html charts = value_chart(view) + scaling_chart(view);
  const Html table = page::scrolling(page::to_html(sweep_table(view, result)));
  return page::fill(
      assets::kSweep,
      {{"id", fmt::format("sweep-{}", number)},
       {"heading", fmt::format("h-sweep-{}", number)},
       {"name", view.grid->sweep.name},
       {"grid", grid_text(view)},
       {"sentences", sentences},
       {"charts", charts},
       {"heat", heat_map(view)},
       {"table", view.points.size() > 24
                     ? details(fmt::format("All {} points", view.points.size()), table)
                     : table}});
}

}  // namespace

Html sweeps(const judge::RunResult& result) {
  Html out;
  std::size_t number = 0;
  for (const SweepView& view : sweep_views(result)) out += one_sweep(result, view, ++number);
  return out;
}

}  // namespace assay::report::html
