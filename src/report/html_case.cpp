#include "report/html_case.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "catalog/metrics.h"
#include "core/text.h"
#include "page/table.h"
#include "page/template.h"
#include "report/chart.h"
#include "report/html_configuration.h"
#include "report/html_parts.h"
#include "report/html_time.h"
#include "report/present.h"
#include "report/report_assets.h"

namespace assay::report::html {

using page::fill;
using page::Html;
using page::markup;

namespace {

using judge::CaseResult;
using judge::Metric;
using judge::RoundResult;
using judge::Summary;
using judge::Validity;

constexpr std::size_t kMaxCards = 12;
constexpr std::size_t kMaxRankRows = 96;

std::string_view status_words(RoundStatus status) {
  using enum RoundStatus;
  if (status == timed_out) return "ended by the time limit";
  if (status == stalled) return "ended because it stalled";
  if (status == launch_failed) return "could not be started";
  return status == not_run ? "not run" : to_text(status);
}

std::string below_card(const Summary& summary) {
  const std::string rounds = counted(summary.n, "round");
  const auto spread = spread_of(summary);
  return spread ? fmt::format("± {} · {}", show_percent(spread->ratio), rounds) : rounds;
}

// The headline first, then the most informative metrics of a case. The rest of the catalog is in
// the tables.
std::optional<int> card_place(const std::string& name, const std::string& headline) {
  if (name == headline) return 0;
  const catalog::KnownMetric* known = catalog::find_known_metric(name);
  const int card = known == nullptr ? catalog::kNamedCard : known->card;
  return card == 0 ? std::nullopt : std::optional(card);
}

Html cards_of(const CaseResult& result) {
  struct Entry {
    int place;
    Card card;
  };
  std::vector<Entry> entries;
  const auto add = [&](const MetricInfo& info, double value, const std::string& origin,
                       const std::string& below) {
    const auto place = card_place(info.name, result.headline);
    if (!place) return;
    const Shown shown = show(value, info.unit);
    entries.push_back({*place,
                       {.title = metric_title(info.name),
                        .value = shown.number,
                        .unit = shown.unit,
                        .below = below,
                        .description = info.description,
                        .origin = origin == "measured" ? "" : origin,
                        .better = info.better,
                        .headline = *place == 0}});
  };
  for (const Summary& summary : result.summary)
    add(summary.info, summary.median, summary.origin, below_card(summary));
  // No round counts: what was measured is still shown, marked as not counted.
  if (result.summary.empty()) {
    const auto found = std::ranges::find_if(
        result.rounds, [](const RoundResult& round) { return !round.metrics.empty(); });
    if (found != result.rounds.end())
      for (const Metric& metric : found->metrics)
        add(metric.info, metric.value, metric.origin,
            fmt::format("round {}, does not count", found->round));
  }
  if (entries.empty()) return {};
  std::ranges::stable_sort(entries, {}, &Entry::place);
  std::vector<Card> shown;
  for (std::size_t i = 0; i < std::min(entries.size(), kMaxCards); ++i)
    shown.push_back(std::move(entries[i].card));
  const std::size_t rows = (shown.size() + 4) / 5;
  return cards(shown, (shown.size() + rows - 1) / rows);
}

// The charts of a round share their time axis: what happened together stands above each other.
double end_of(const RoundResult& round) {
  double end = 0;
  const auto reach = [&](double t) {
    if (std::isfinite(t)) end = std::max(end, t);
  };
  for (const judge::Phase& phase : round.phases) reach(phase.end_s);
  for (const judge::Series& series : round.series)
    for (const judge::Point& point : series.points) reach(point.t_s);
  return end;
}

// "init 4.2 s · train 3 min 05 s": the time of every kind of phase.
Html phase_list(const RoundResult& round) {
  std::vector<std::pair<std::string, double>> totals;
  for (const judge::Phase& phase : round.phases) {
    if (!std::isfinite(phase.end_s - phase.start_s)) continue;
    const auto found =
        std::ranges::find(totals, phase.name, &std::pair<std::string, double>::first);
    if (found == totals.end())
      totals.emplace_back(phase.name, phase.end_s - phase.start_s);
    else
      found->second += phase.end_s - phase.start_s;
  }
  Html out;
  for (std::size_t i = 0; i < std::min<std::size_t>(totals.size(), 8); ++i)
    out += markup("<li><i class=\"{}\"></i>{} <b>{}</b></li>", phase_class(totals[i].first),
                  totals[i].first, show(totals[i].second, "s").text());
  return out;
}

std::string series_title(const std::string& name) {
  const catalog::KnownSeries* known = catalog::find_known_series(name);
  return known == nullptr ? metric_title(name) : std::string(known->title);
}

Html metric_name(const MetricInfo& info) {
  return markup("{} <code>{}</code>", metric_title(info.name), info.name);
}

Html metric_rows(const RoundResult& round) {
  if (round.metrics.empty()) return {};
  page::Table table{{{"Metric"}, {"Value", page::Align::right}, {"Origin"}, {"How"}}};
  for (const Metric& metric : round.metrics)
    table.rows.push_back(
        {{metric_name(metric.info), show(metric.value, metric.info.unit).text(), metric.origin,
          metric.note.empty() ? metric.info.description : metric.note}});
  return details(fmt::format("All {} metrics of round {}", round.metrics.size(), round.round),
                 page::scrolling(page::to_html(table)));
}

// Completeness, integrity and plausibility of the round's evidence, each a badge with its reason.
Html evidence_badges(const judge::EvidenceState& evidence) {
  Html out;
  const auto badge = [&](std::string_view name, const judge::AspectState& state) {
    const std::string_view mark = state.state == judge::Soundness::ok       ? "✓"
                                  : state.state == judge::Soundness::flawed ? "✗"
                                                                            : "?";
    out += markup("<li class=\"{}\" title=\"{}\">{} {} <b>{}</b></li>", to_text(state.state),
                  state.text, mark, name, to_text(state.state));
  };
  badge("completeness", evidence.completeness);
  badge("integrity", evidence.integrity);
  badge("plausibility", evidence.plausibility);
  return markup("<ul class=\"soundness\" aria-label=\"Evidence\">{}</ul>\n", out);
}

Html round_panel(const RoundResult& round, std::size_t max_points) {
  return fill(assets::kRound,
              {{"chip", chip(round.validity)},
               {"round", round.round},
               {"status", status_words(round.status)},
               {"reason", round.status == RoundStatus::completed ? "" : round.reason},
               {"started", round.started},
               {"ended", round.ended},
               {"evidence", evidence_badges(round.evidence)},
               {"phases", phase_list(round)},
               {"charts", round_charts(round, max_points)},
               {"ranks", rank_table(round, kMaxRankRows)},
               {"metrics", metric_rows(round) + what_ran(round)}});
}

// The round to show first: the first with a problem, else the one nearest to the median.
std::size_t representative(const CaseResult& result) {
  for (std::size_t i = 0; i < result.rounds.size(); ++i)
    if (result.rounds[i].validity != Validity::valid &&
        result.rounds[i].status != RoundStatus::not_run)
      return i;
  const Summary* summary = find_summary(result, result.headline);
  if (summary == nullptr) return 0;
  std::size_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    const Metric* metric = find_metric(result.rounds[i], result.headline);
    if (metric == nullptr || !(std::abs(metric->value - summary->median) < distance)) continue;
    distance = std::abs(metric->value - summary->median);
    best = i;
  }
  return best;
}

// Tabs that need no script: a radio button, its label and its panel for every round.
Html rounds(const CaseResult& result, std::size_t number, std::size_t max_points) {
  if (result.rounds.empty()) return remark(Html("No round was run.")) + Html("\n");
  const std::size_t chosen = representative(result);
  Html tabs;
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    const RoundResult& round = result.rounds[i];
    const bool valid = round.validity == Validity::valid;
    tabs += fill(assets::kRoundTab, {{"group", fmt::format("c{}", number)},
                                     {"id", fmt::format("c{}r{}", number, i + 1)},
                                     {"checked", i == chosen},
                                     {"class", css_class(round.validity)},
                                     {"round", round.round},
                                     {"mini", valid ? "" : judge::to_string(round.validity)},
                                     {"panel", round_panel(round, max_points)}});
  }
  return markup("<div class=\"tabs\" role=\"group\" aria-label=\"Rounds\">\n{}</div>\n", tabs);
}

Html statistics(const CaseResult& result) {
  if (result.summary.empty()) return {};
  const auto cell = [](std::optional<double> value, const std::string& unit) {
    return value ? show(*value, unit).text() : std::string("–");
  };
  constexpr auto kRight = page::Align::right;
  page::Table table{{{"Metric"},
                     {"n", kRight},
                     {"Median", kRight},
                     {"Mean", kRight},
                     {"95 % CI of the mean", kRight},
                     {"CV", kRight},
                     {"Min", kRight},
                     {"Max", kRight},
                     {"Olympic mean", kRight}}};
  std::vector<std::string> notes;
  for (const Summary& summary : result.summary) {
    const std::string& unit = summary.info.unit;
    const bool interval = summary.ci95_low && summary.ci95_high;
    table.rows.push_back(
        {{metric_name(summary.info), std::to_string(summary.n),
          markup("<b>{}</b>", cell(summary.median, unit)), cell(summary.mean, unit),
          interval ? cell(summary.ci95_low, unit) + " – " + cell(summary.ci95_high, unit) : "–",
          summary.cv ? show_percent(*summary.cv) : "–", cell(summary.min, unit),
          cell(summary.max, unit), cell(summary.olympic_mean, unit)}});
    if (!summary.note.empty() && std::ranges::find(notes, summary.note) == notes.end())
      notes.push_back(summary.note);
  }
  Html content = page::scrolling(page::to_html(table));
  for (const std::string& note : notes) content += remark(Html::text(note));
  return details("Statistics over rounds", content, "stats");
}

}  // namespace

Html round_charts(const RoundResult& round, std::size_t max_points) {
  // One chart for every name and unit, in the order in which they first appear.
  std::vector<Chart> all;
  const double end = end_of(round);
  for (const judge::Series& series : round.series) {
    const auto same = std::ranges::find_if(all, [&](const Chart& chart) {
      return chart.series[0]->name == series.name && chart.unit == series.unit;
    });
    if (same != all.end())
      same->series.push_back(&series);
    else
      all.push_back(
          {series_title(series.name), series.unit, {&series}, round.phases, end, max_points});
  }
  Html out;
  for (const Chart& chart : all) out += render_chart(chart);
  out += render_rank_speeds(round);
  return out.empty() ? out : markup("<div class=\"charts\">{}</div>\n", out);
}

Html case_section(const CaseResult& result, std::size_t number, std::size_t max_points) {
  return fill(
      assets::kCase,
      {{"id", fmt::format("case-{}", number)},
       {"heading", fmt::format("h-{}", number)},
       {"name", result.name},
       {"subtitle", case_subtitle(result)},
       {"chip", chip(result.validity)},
       {"content", rules_notice(result) + findings(merged_findings(result)) + cards_of(result) +
                       rounds(result, number, max_points) + time_bars(result) + statistics(result) +
                       configuration(result) + rules_in_force(result)}});
}

}  // namespace assay::report::html
