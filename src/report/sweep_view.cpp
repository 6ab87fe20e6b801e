#include "report/sweep_view.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "report/present.h"

namespace assay::report {

using judge::CaseResult;
using judge::RunResult;
using judge::Summary;
using judge::SweepGrid;
using judge::Validity;

namespace {

// A point's energy cost, most meaningful first: energy per unit of work, then in total.
constexpr std::array<const char*, 5> kEnergies{"energy_to_target_j", "energy_per_sample_j",
                                               "samples_per_joule", "energy_per_step_j",
                                               "energy_j"};

constexpr std::size_t kSaidLines = 8;  // of sentences about scaling

bool is_rank_axis(const plan::SweepDimension& axis) {
  return axis.key == "nodes" || axis.key == "procs";
}

bool is_counted(const CaseResult& point) {
  return point.validity == Validity::valid && !point.skipped;
}

std::optional<SweepBest> best_by(const std::vector<const CaseResult*>& points,
                                 const std::string& metric) {
  struct Candidate {
    const CaseResult* point;
    const Summary* summary;
  };
  std::vector<Candidate> candidates;
  for (const CaseResult* point : points)
    if (const Summary* summary = find_summary(*point, metric);
        is_counted(*point) && summary != nullptr && std::isfinite(summary->median))
      candidates.push_back({point, summary});
  if (candidates.empty() || candidates[0].summary->info.better == Better::neither)
    return std::nullopt;
  const bool higher = candidates[0].summary->info.better == Better::higher;
  std::ranges::stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
    return higher ? a.summary->median > b.summary->median : a.summary->median < b.summary->median;
  });
  SweepBest best{candidates[0].point, candidates[0].summary};
  if (candidates.size() == 1) return best;
  best.second = candidates[1].point;
  best.second_summary = candidates[1].summary;
  const auto one = spread_of(*best.point, *best.summary);
  const auto other = spread_of(*best.second, *best.second_summary);
  best.lead = Lead::unknown;
  if (one && other)
    best.lead = std::abs(best.summary->median - best.second_summary->median) >
                        std::hypot(one->half, other->half)
                    ? Lead::clear
                    : Lead::spread;
  return best;
}

std::string point_place(const SweepGrid& grid, const CaseResult& point, bool with_ranks) {
  std::vector<std::string> parts;
  bool procs_too = false;
  for (const plan::SweepDimension& axis : grid.sweep.dimensions) procs_too |= axis.key == "nodes";
  for (std::size_t i = 0; i < grid.sweep.dimensions.size(); ++i) {
    const plan::SweepDimension& axis = grid.sweep.dimensions[i];
    // If both vary, a line covers nodes at a fixed number of processes per node.
    const bool along = is_rank_axis(axis) && !(axis.key == "procs" && procs_too);
    if (with_ranks || !along)
      parts.push_back(axis.label + "=" + axis_value_text(point.sweep->values[i]));
  }
  return join(parts, ", ");
}

std::vector<ScalingLine> scaling_lines(const SweepGrid& grid,
                                       const std::vector<const CaseResult*>& points) {
  std::vector<ScalingLine> lines;
  for (const CaseResult* point : points) {
    const std::string label = point_place(grid, *point, false);
    auto line = std::ranges::find(lines, label, &ScalingLine::label);
    if (line == lines.end()) line = lines.insert(lines.end(), ScalingLine{label});
    line->points.push_back({point, point->nodes * point->procs});
  }
  for (ScalingLine& line : lines) {
    std::ranges::stable_sort(line.points, {}, &ScalingPoint::ranks);
    const Summary* base = nullptr;
    for (ScalingPoint& one : line.points) {
      const Summary* own =
          is_counted(*one.point) ? find_summary(*one.point, grid.headline) : nullptr;
      if (own == nullptr || !(own->median > 0)) continue;
      if (base == nullptr) {
        base = own;
        line.base_ranks = one.ranks;
      }
      one.speedup = own->info.better == Better::lower ? base->median / own->median
                                                      : own->median / base->median;
      one.efficiency = *one.speedup * line.base_ranks / one.ranks;
    }
  }
  // A line needs at least two numbers of ranks.
  std::erase_if(lines, [](const ScalingLine& line) {
    return std::ranges::none_of(line.points, [&](const ScalingPoint& one) {
      return one.speedup && one.ranks > line.base_ranks;
    });
  });
  return lines;
}

std::string why_no_best(const std::vector<const CaseResult*>& points, const SweepGrid& grid) {
  if (std::ranges::none_of(points, [](const CaseResult* point) { return is_counted(*point); }))
    return "No point is VALID, so none is best";
  if (grid.headline.empty()) return "Its points have no headline metric to be compared by";
  return fmt::format("{} has no better direction, so no point is best",
                     metric_title(grid.headline));
}

SweepView view_of(const RunResult& result, const SweepGrid& grid) {
  SweepView view;
  view.grid = &grid;
  for (const std::size_t i : grid.cases) view.points.push_back(&result.cases[i]);
  view.best = best_by(view.points, grid.headline);
  if (!view.best) view.no_best = why_no_best(view.points, grid);
  for (const char* metric : kEnergies) {
    const bool known = std::ranges::all_of(view.points, [&](const CaseResult* point) {
      return !is_counted(*point) || find_summary(*point, metric) != nullptr;
    });
    if (known) view.energy = best_by(view.points, metric);
    if (view.energy) break;
  }
  if (std::ranges::none_of(grid.sweep.dimensions, is_rank_axis) || !view.best) return view;
  if (grid.adds_up || grid.headline == "time_to_target")
    view.scaling = scaling_lines(grid, view.points);
  else
    view.no_scaling = fmt::format(
        "No speed-up is computed: {} is not known to be of all ranks together for the same work",
        metric_title(grid.headline));
  return view;
}

std::string scaling_text(const ScalingLine& line) {
  std::vector<std::string> parts;
  for (const ScalingPoint& one : line.points) {
    if (one.ranks == line.base_ranks && one.speedup) continue;
    parts.push_back(
        one.speedup ? fmt::format("{} {:.2f}× ({})", counted(one.ranks, "rank"), *one.speedup,
                                  show_percent(*one.efficiency))
                    : fmt::format("{} {}", counted(one.ranks, "rank"), verdict_words(*one.point)));
  }
  return fmt::format("Speed-up and parallel efficiency{} against {}: {}",
                     line.label.empty() ? "" : " at " + line.label,
                     counted(line.base_ranks, "rank"), join(parts, ", "));
}

std::string value_of(const CaseResult& point, const Summary& summary) {
  return median_text(point, summary);
}

page::Cell result_cell_of(const SweepView& view, const CaseResult& point) {
  const Summary* summary = find_summary(point, view.grid->headline);
  if (!is_counted(point)) {
    page::Cell cell(verdict_words(point), "verdict-cell");
    cell.color = point.skipped ? "2" : "1;33";
    return cell;
  }
  const bool best = view.best && view.best->point == &point;
  page::Cell cell(summary == nullptr ? "–" : value_of(point, *summary) + (best ? " *" : ""));
  if (best) cell.color = "1";
  return cell;
}

// If nothing is VALID, measurements are still shown.
std::string shown_metric(const SweepView& view) {
  if (!view.grid->headline.empty()) return view.grid->headline;
  for (const CaseResult* point : view.points)
    if (!point->headline.empty()) return point->headline;
  return {};
}

Json best_to_json(const SweepBest& best) {
  Json json{{"case", best.point->name},
            {"metric", best.summary->info.name},
            {"unit", best.summary->info.unit},
            {"value", best.summary->median},
            {"lead", to_text(best.lead)}};
  if (best.second != nullptr) {
    json["second"] = best.second->name;
    json["second_value"] = best.second_summary->median;
  }
  return json;
}

}  // namespace

std::string axis_value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? format_number(value.get<double>()) : dump_line(value);
}

const CaseResult* SweepView::at(const std::vector<Json>& values) const {
  const auto found = std::ranges::find_if(
      points, [&](const CaseResult* point) { return point->sweep->values == values; });
  return found == points.end() ? nullptr : *found;
}

std::vector<SweepView> sweep_views(const RunResult& result) {
  std::vector<SweepView> views;
  for (const SweepGrid& grid : result.sweeps)
    if (!grid.cases.empty()) views.push_back(view_of(result, grid));
  return views;
}

std::string place_text(const SweepView& view, const CaseResult& point) {
  return point_place(*view.grid, point, true);
}

std::string grid_text(const SweepView& view) {
  std::vector<std::string> axes;
  std::size_t all = 1;
  for (const plan::SweepDimension& axis : view.grid->sweep.dimensions) {
    axes.push_back(axis.label);
    all *= axis.values.size();
  }
  std::string text = fmt::format("{}: {}", join(axes, " × "), counted(view.points.size(), "point"));
  const auto excluded = static_cast<std::size_t>(std::max(view.grid->sweep.excluded, 0));
  if (excluded > 0) text += fmt::format(", {} of the grid left out by constraints", excluded);
  if (const std::size_t planned = view.points.size() + excluded; planned < all)
    text += fmt::format(", {} not selected", all - planned);
  return text;
}

std::string best_text(const SweepView& view, const SweepBest& best, const std::string& what) {
  std::string text =
      fmt::format("{} {}: {} with {}", what, metric_title(best.summary->info.name),
                  place_text(view, *best.point), value_of(*best.point, *best.summary));
  if (best.lead == Lead::alone) return text + "; no other point is VALID";
  const std::string second = fmt::format("{} with {}", place_text(view, *best.second),
                                         value_of(*best.second, *best.second_summary));
  switch (best.lead) {
    case Lead::clear:
      return text + ", before " + second;
    case Lead::spread:
      return text + "; the difference to " + second + " is within the spread";
    default:
      return text + ", before " + second + "; the spread is not known, 3 rounds would tell";
  }
}

std::vector<std::string> sweep_sentences(const SweepView& view) {
  std::vector<std::string> out;
  out.push_back(view.best ? best_text(view, *view.best, "Best by") : view.no_best);
  if (view.energy) out.push_back(best_text(view, *view.energy, "Best by"));
  for (std::size_t i = 0; i < std::min(view.scaling.size(), kSaidLines); ++i)
    out.push_back(scaling_text(view.scaling[i]));
  if (view.scaling.size() > kSaidLines)
    out.push_back(
        fmt::format("Speed-up and parallel efficiency of {} more lines are in result.json",
                    view.scaling.size() - kSaidLines));
  if (!view.no_scaling.empty()) out.push_back(view.no_scaling);
  const auto bad = std::ranges::count_if(
      view.points, [](const CaseResult* point) { return !is_counted(*point); });
  if (bad > 0)
    out.push_back(fmt::format("{} of {} {} not VALID and take{} no part in this", bad,
                              counted(view.points.size(), "point"), bad == 1 ? "is" : "are",
                              bad == 1 ? "s" : ""));
  return out;
}

page::Table sweep_table(const SweepView& view, const RunResult& result) {
  constexpr auto kRight = page::Align::right;
  const std::string metric = shown_metric(view);
  page::Table table;
  for (const plan::SweepDimension& axis : view.grid->sweep.dimensions)
    table.columns.push_back({.title = axis.label, .shown = page::Shown::as_it_is});
  table.columns.push_back(
      {.title = metric.empty() ? "Result" : metric_title(metric), .align = kRight});
  if (view.energy)
    table.columns.push_back(
        {.title = metric_title(view.energy->summary->info.name), .align = kRight});
  table.columns.push_back({.title = "Verdict"});
  table.columns.push_back({.title = ""});
  for (const CaseResult* point : view.points) {
    page::Row row;
    for (const Json& value : point->sweep->values)
      row.cells.push_back(page::name(axis_value_text(value)));
    const auto number = static_cast<std::size_t>(point - result.cases.data()) + 1;
    row.cells[0].html =
        page::markup("<a href=\"#case-{}\" translate=\"no\">{}</a>", number, row.cells[0].text);
    const Summary* summary = find_summary(*point, metric);
    row.cells.emplace_back(summary == nullptr ? "–" : show(*point, *summary).text());
    if (view.energy) {
      const Summary* energy = find_summary(*point, view.energy->summary->info.name);
      row.cells.emplace_back(energy == nullptr ? "–" : value_of(*point, *energy));
    }
    row.cells.emplace_back(verdict_words(*point));
    const bool best = view.best && view.best->point == point;
    const bool least = view.energy && view.energy->point == point;
    row.cells.emplace_back(best && least ? "best, best energy"
                           : best        ? "best"
                           : least       ? "best energy"
                                         : "");
    if (!is_counted(*point)) row.css = point->validity == Validity::invalid ? "bad" : "odd";
    table.rows.push_back(std::move(row));
  }
  return table;
}

bool fits_matrix(const SweepView& view, std::size_t columns) {
  const auto& axes = view.grid->sweep.dimensions;
  return axes.size() == 2 && axes[1].values.size() <= columns && axes[0].values.size() > 1 &&
         axes[1].values.size() > 1;
}

page::Table sweep_matrix(const SweepView& view) {
  const auto& axes = view.grid->sweep.dimensions;
  page::Table table;
  table.columns.push_back(
      {.title = axes[0].label + " \\ " + axes[1].label, .shown = page::Shown::as_it_is});
  for (const Json& value : axes[1].values)
    table.columns.push_back({.title = axis_value_text(value),
                             .align = page::Align::right,
                             .shown = page::Shown::as_it_is});
  for (const Json& first : axes[0].values) {
    page::Row row{{page::name(axis_value_text(first))}};
    for (const Json& second : axes[1].values) {
      const CaseResult* point = view.at({first, second});
      row.cells.push_back(point == nullptr ? page::Cell("") : result_cell_of(view, *point));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json sweeps_to_json(const RunResult& result) {
  Json out = Json::array();
  for (const SweepView& view : sweep_views(result)) {
    const plan::Sweep& sweep = view.grid->sweep;
    Json json{{"name", sweep.name}, {"dimensions", Json::array()}, {"points", Json::array()}};
    for (const plan::SweepDimension& axis : sweep.dimensions)
      json["dimensions"].push_back(
          {{"key", axis.key}, {"label", axis.label}, {"values", axis.values}});
    for (const CaseResult* point : view.points)
      json["points"].push_back({{"case", point->name}, {"values", point->sweep->values}});
    json["excluded"] = sweep.excluded;
    json["headline"] = view.grid->headline;
    if (view.best) json["best"] = best_to_json(*view.best);
    if (!view.no_best.empty()) json["no_best"] = view.no_best;
    if (view.energy) json["best_energy"] = best_to_json(*view.energy);
    for (const ScalingLine& line : view.scaling) {
      Json one{{"at", line.label}, {"base_ranks", line.base_ranks}, {"points", Json::array()}};
      for (const ScalingPoint& point : line.points) {
        Json entry{{"case", point.point->name}, {"ranks", point.ranks}};
        if (point.speedup) entry["speedup"] = *point.speedup;
        if (point.efficiency) entry["efficiency"] = *point.efficiency;
        one["points"].push_back(std::move(entry));
      }
      json["scaling"].push_back(std::move(one));
    }
    if (!view.no_scaling.empty()) json["no_scaling"] = view.no_scaling;
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace assay::report
