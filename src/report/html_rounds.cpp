#include "report/html_rounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "page/table.h"
#include "report/chart.h"
#include "report/chart_band.h"
#include "report/html_parts.h"
#include "report/present.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

using judge::CaseResult;
using judge::RoundResult;
using judge::Series;

// The charts of a case share their time axis, so that simultaneous events are above each other.
double end_of(const RoundResult& round) {
  double end = 0;
  const auto reach = [&](double t) {
    if (std::isfinite(t)) end = std::max(end, t);
  };
  for (const judge::Phase& phase : round.phases) reach(phase.end_s);
  for (const Series& series : round.series)
    for (const judge::Point& point : series.points) reach(point.t_s);
  return end;
}

std::string series_title(const std::string& name) {
  const catalog::KnownSeries* known = catalog::find_known_series(name);
  return known == nullptr ? metric_title(name) : std::string(known->title);
}

// The series with one name and unit, in order of first appearance.
struct Group {
  std::string name;
  std::string unit;
  std::vector<const Series*> series{};
};

std::vector<Group> groups_of(const RoundResult& round) {
  std::vector<Group> groups;
  for (const Series& series : round.series) {
    auto same = std::ranges::find_if(groups, [&](const Group& group) {
      return group.name == series.name && group.unit == series.unit;
    });
    if (same == groups.end()) same = groups.insert(groups.end(), {series.name, series.unit});
    same->series.push_back(&series);
  }
  return groups;
}

std::vector<judge::Level> levels_of(const RoundResult& round, const std::string& series) {
  std::vector<judge::Level> levels;
  for (const judge::Level& level : round.levels)
    if (level.series == series && std::isfinite(level.value)) levels.push_back(level);
  return levels;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

std::string against(double value, double median) {
  const double difference = value / median - 1;
  if (std::abs(difference) < 5e-5) return "as the median";
  return show_percent(std::abs(difference)) +
         (difference > 0 ? " above the median" : " below the median");
}

// The content of one chart of all rounds: a line per round.
struct Overlay {
  std::string name;
  std::string unit;
  std::vector<Series> lines{};
  std::vector<judge::Level> levels{};
  std::optional<std::size_t> odd{};
};

// Every chart has a curve for each round.
std::vector<Overlay> overlays_of(std::span<const Curve> curves, std::optional<std::size_t> odd,
                                 double end, std::size_t max_points) {
  std::vector<Overlay> overlays;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const RoundResult& round = *curves[i].round;
    for (const Group& group : groups_of(round)) {
      auto same = std::ranges::find_if(overlays, [&](const Overlay& overlay) {
        return overlay.name == group.name && overlay.unit == group.unit;
      });
      if (same == overlays.end()) {
        same = overlays.insert(overlays.end(), {group.name, group.unit});
        same->levels = levels_of(round, group.name);
      }
      if (odd == i) same->odd = same->lines.size();
      std::string label = curves[i].label;
      if (group.series.size() > 1) label += fmt::format(", median of {}", group.series.size());
      if (!curves[i].remark.empty()) label += ", " + curves[i].remark;
      same->lines.push_back({group.name, std::move(label), group.unit,
                             group.series.size() == 1
                                 ? group.series[0]->points
                                 : band_of(group.series, end, max_points).median});
    }
  }
  return overlays;
}

Html overlay_charts(std::span<const Curve> curves, std::optional<std::size_t> odd,
                    std::span<const judge::Phase> steady, std::size_t max_points) {
  double end = 0;
  for (const Curve& curve : curves) end = std::max(end, end_of(*curve.round));
  Html out;
  for (const Overlay& overlay : overlays_of(curves, odd, end, max_points)) {
    Chart chart{series_title(overlay.name), overlay.unit, {}, {}, end, max_points};
    chart.levels = overlay.levels;
    chart.odd = overlay.odd;
    if (overlay.name == "throughput") chart.phases = steady;
    for (const Series& line : overlay.lines) chart.series.push_back(&line);
    out += render_chart(chart);
  }
  return out.empty() ? out : markup("<div class=\"charts\">{}</div>\n", out);
}

Html charts_of_rounds(const CaseResult& result, const std::optional<OddRound>& odd,
                      std::size_t max_points) {
  std::vector<Curve> curves;
  for (std::size_t i = 0; i < result.rounds.size(); ++i)
    curves.push_back({fmt::format("round {}", result.rounds[i].round), &result.rounds[i],
                      odd && odd->index == i ? odd->why : ""});
  std::vector<judge::Phase> steady;
  const RoundResult& open = result.rounds[open_round(result).index];
  if (open.steady) {
    steady.push_back(*open.steady);
    steady.back().name = fmt::format("steady in round {}", open.round);
  }
  return overlay_charts(curves, odd ? std::optional(odd->index) : std::nullopt, steady, max_points);
}

page::Row round_row(const CaseResult& result, std::size_t i, const std::optional<OddRound>& odd) {
  const RoundResult& round = result.rounds[i];
  const judge::Metric* headline = find_metric(round, result.headline);
  const judge::Summary* summary = find_summary(result, result.headline);
  const judge::Metric* e2e = find_metric(round, "e2e_time");
  const bool known = headline != nullptr && summary != nullptr && std::isfinite(headline->value) &&
                     std::isfinite(summary->median) && summary->median != 0;
  // Uses the round's own uncertainty if its steps give one, else the digits that the rounds allow.
  const auto own = headline == nullptr ? std::nullopt : spread_of(*headline);
  const auto spread = own || summary == nullptr ? own : spread_of(result, *summary);
  Shown value = headline == nullptr ? Shown{"–", ""}
                                    : show(headline->value, headline->info.unit,
                                           spread ? std::optional(spread->half) : std::nullopt);
  if (!own) value.half.clear();
  const bool is_odd = odd && odd->index == i;
  const bool completed = round.status == RoundStatus::completed;
  std::string remark = completed ? "" : std::string(status_words(round.status));
  if (!completed && !round.reason.empty()) remark += ": " + round.reason;
  if (is_odd) remark = "the odd one";
  return {{std::to_string(round.round), chip(round.validity), page::name(value.text()),
           known ? against(headline->value, summary->median) : "–",
           e2e == nullptr ? "–" : show(e2e->value, "s").text(), remark},
          is_odd || !completed ? "odd" : ""};
}

}  // namespace

std::string_view status_words(RoundStatus status) {
  using enum RoundStatus;
  if (status == timed_out) return "ended by the time limit";
  if (status == stalled) return "ended because it stalled";
  if (status == launch_failed) return "could not be started";
  if (status == unrecorded) return "could not be recorded";
  return status == not_run ? "not run" : to_text(status);
}

std::optional<OddRound> odd_round(const CaseResult& result) {
  constexpr std::size_t kFewest = 3;
  constexpr double kSpreads = 3 * 1.4826;  // of the median distance; 1.4826 makes it a deviation
  constexpr double kWorthNaming = 0.02;
  std::vector<std::pair<std::size_t, double>> values;
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    const judge::Metric* metric = find_metric(result.rounds[i], result.headline);
    if (result.rounds[i].status == RoundStatus::completed && metric != nullptr &&
        std::isfinite(metric->value))
      values.emplace_back(i, metric->value);
  }
  if (values.size() < kFewest) return std::nullopt;
  std::vector<double> all;
  for (const auto& [index, value] : values) all.push_back(value);
  const double median = median_of(all);
  for (double& value : all) value = std::abs(value - median);
  const double limit = std::max(kSpreads * median_of(all), kWorthNaming * std::abs(median));
  const auto farthest = std::ranges::max_element(
      values, {}, [&](const auto& entry) { return std::abs(entry.second - median); });
  if (median == 0 || !(std::abs(farthest->second - median) > limit)) return std::nullopt;
  return OddRound{farthest->first, against(farthest->second, median)};
}

OpenRound open_round(const CaseResult& result) {
  const auto opens = [&](std::size_t i, const std::string& why) {
    return OpenRound{i, fmt::format("Round {} is open first: {}.", result.rounds[i].round, why)};
  };
  for (std::size_t i = 0; i < result.rounds.size(); ++i)
    if (result.rounds[i].validity != judge::Validity::valid &&
        result.rounds[i].status != RoundStatus::not_run)
      return opens(i, "it is the first that is not valid");
  if (const auto odd = odd_round(result))
    return opens(odd->index, "it is the odd one, " + odd->why);
  const judge::Summary* summary = find_summary(result, result.headline);
  std::optional<std::size_t> best;
  double distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; summary != nullptr && i < result.rounds.size(); ++i) {
    const judge::Metric* metric = find_metric(result.rounds[i], result.headline);
    if (metric == nullptr || !(std::abs(metric->value - summary->median) < distance)) continue;
    distance = std::abs(metric->value - summary->median);
    best = i;
  }
  if (!best) return opens(0, "no round has the number that represents the case");
  return opens(*best, "its result is the nearest to the median of the rounds");
}

bool has_overlay(const CaseResult& result) {
  return std::ranges::count_if(result.rounds,
                               [](const RoundResult& round) { return !round.series.empty(); }) > 1;
}

Html all_rounds(const CaseResult& result, std::size_t max_points) {
  if (result.rounds.size() < 2) return {};
  const auto odd = odd_round(result);
  constexpr auto kRight = page::Align::right;
  page::Table table{{{"Round", kRight},
                     {"Verdict"},
                     {result.headline.empty() ? "Result" : metric_title(result.headline), kRight},
                     {"Against the others", kRight},
                     {"End to end", kRight},
                     {"Remarks"}}};
  for (std::size_t i = 0; i < result.rounds.size(); ++i)
    table.rows.push_back(round_row(result, i, odd));
  const Html charts = has_overlay(result) ? charts_of_rounds(result, odd, max_points) : Html();
  return markup("<div class=\"all-rounds\"><h3>All {} rounds</h3>\n{}{}</div>\n",
                result.rounds.size(), page::scrolling(page::to_html(table)), charts);
}

Html overlaid(std::span<const Curve> curves, std::size_t max_points) {
  return overlay_charts(curves, std::nullopt, {}, max_points);
}

Html round_charts(const RoundResult& round, std::size_t max_points) {
  const double end = end_of(round);
  std::vector<judge::Phase> with_steady = round.phases;
  if (round.steady) with_steady.push_back(*round.steady);
  Html out;
  for (const Group& group : groups_of(round))
    out += render_chart({series_title(group.name), group.unit, group.series,
                         group.name == "throughput" ? with_steady : round.phases, end, max_points,
                         levels_of(round, group.name)});
  out += render_rank_speeds(round);
  return out.empty() ? out : markup("<div class=\"charts\">{}</div>\n", out);
}

}  // namespace assay::report::html
