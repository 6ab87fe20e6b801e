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
#include "report/html_hooks.h"
#include "report/html_parts.h"
#include "report/html_rounds.h"
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

std::string below_card(const CaseResult& result, const Summary& summary) {
  std::string rounds = counted(summary.n, "round");
  const auto spread = spread_of(result, summary);
  if (!spread) return rounds;
  return fmt::format("± {} ({}) · {}", show(result, summary).half, show_percent(spread->ratio),
                     spread->kind == Spread::Kind::steps ? "over its steps" : rounds);
}

// The headline first, then the metric to read it with, then a case's most informative metrics. The
// tables have the rest of the catalog.
std::optional<int> card_place(const std::string& name, const CaseResult& result) {
  if (name == result.headline) return 0;
  if (name == result.beside) return 1;
  const catalog::KnownMetric* known = catalog::find_known_metric(name);
  const int card = known == nullptr ? catalog::kNamedCard : known->card;
  return card == 0 ? std::nullopt : std::optional(1 + card);
}

Html cards_of(const CaseResult& result) {
  struct Entry {
    int place;
    Card card;
  };
  std::vector<Entry> entries;
  const auto add = [&](const MetricInfo& info, const Shown& shown, judge::Origin origin,
                       const std::string& below) {
    const auto place = card_place(info.name, result);
    if (!place) return;
    entries.push_back(
        {*place,
         {.title = metric_title(info.name),
          .value = shown.number,
          .unit = shown.unit,
          .below = below,
          .description = info.description,
          .origin = origin == judge::Origin::measured ? "" : std::string(to_text(origin)),
          .better = info.better,
          .headline = *place == 0}});
  };
  for (const Summary& summary : result.summary)
    add(summary.info, show(result, summary), summary.origin, below_card(result, summary));
  // If no round counts, measurements are still shown, marked as not counted.
  if (result.summary.empty()) {
    const auto found = std::ranges::find_if(
        result.rounds, [](const RoundResult& round) { return !round.metrics.empty(); });
    if (found != result.rounds.end())
      for (const Metric& metric : found->metrics)
        add(metric.info, show(metric.value, metric.info.unit), metric.origin,
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

// "init 4.2 s · train 3 min 05 s": the time spent in each kind of phase.
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

Html metric_name(const MetricInfo& info) {
  return markup("{} <code>{}</code>", metric_title(info.name), info.name);
}

std::string value_text(const Metric& metric) {
  const auto spread = spread_of(metric);
  return show(metric.value, metric.info.unit, spread ? std::optional(spread->half) : std::nullopt)
      .text();
}

Html metric_rows(const RoundResult& round) {
  if (round.metrics.empty()) return {};
  page::Table table{{{"Metric"}, {"Value", page::Align::right}, {"Origin"}, {"How"}}};
  for (const Metric& metric : round.metrics)
    table.rows.push_back({{metric_name(metric.info), page::name(value_text(metric)),
                           std::string(to_text(metric.origin)),
                           metric.note.empty() ? metric.info.description : metric.note}});
  return details(fmt::format("All {} metrics of round {}", round.metrics.size(), round.round),
                 page::scrolling(page::to_html(table)));
}

// Badges, with reasons, for completeness, integrity and plausibility of the round's evidence.
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

// A round's charts are unfolded if the case has none for all rounds.
Html round_panel(const RoundResult& round, std::size_t max_points, bool overlaid) {
  Html charts = round_charts(round, max_points);
  if (overlaid && !charts.empty())
    charts = details(fmt::format("Charts of round {} alone", round.round), charts, "alone");
  return fill(assets::kRound,
              {{"chip", chip(round.validity)},
               {"round", round.round},
               {"status", status_words(round.status)},
               {"reason", round.status == RoundStatus::completed ? "" : round.reason},
               {"started", round.started},
               {"ended", round.ended},
               {"evidence", evidence_badges(round.evidence)},
               {"phases", phase_list(round)},
               {"charts", charts},
               {"ranks", rank_table(round, kMaxRankRows)},
               {"metrics", metric_rows(round) + what_ran(round)}});
}

// Tabs without scripts: a radio button, a label and a panel for every round.
Html rounds(const CaseResult& result, std::size_t number, std::size_t max_points) {
  if (result.rounds.empty()) return remark(Html("No round was run.")) + Html("\n");
  const Html all = all_rounds(result, max_points);
  const bool overlaid = has_overlay(result);
  if (result.rounds.size() == 1)
    return markup("<div class=\"one-round\">{}</div>\n",
                  round_panel(result.rounds[0], max_points, overlaid));
  const OpenRound chosen = open_round(result);
  Html tabs;
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    const RoundResult& round = result.rounds[i];
    const bool valid = round.validity == Validity::valid;
    tabs += fill(assets::kRoundTab, {{"group", fmt::format("c{}", number)},
                                     {"id", fmt::format("c{}r{}", number, i + 1)},
                                     {"checked", i == chosen.index},
                                     {"class", css_class(round.validity)},
                                     {"round", round.round},
                                     {"mini", valid ? "" : judge::to_string(round.validity)},
                                     {"panel", round_panel(round, max_points, overlaid)}});
  }
  return all + markup(
                   "<div class=\"tabs\" role=\"group\" aria-label=\"Rounds\">\n{}"
                   "<p class=\"why\">{}</p></div>\n",
                   tabs, chosen.why);
}

// Says what the rounds themselves do not show: which ones do not count, and why there are no more.
Html about_rounds(const CaseResult& result) {
  Html out;
  for (const RoundResult& round : result.warmup_rounds)
    out += remark(Html::text(fmt::format("Round {} was for warm-up and does not count: {}.",
                                         round.round, status_words(round.status))));
  if (!result.repeats_ended.empty())
    out += remark(Html::text(fmt::format(
        "No round after {}: {}.", counted(result.rounds.size(), "round"), result.repeats_ended)));
  return out;
}

Html statistics(const CaseResult& result) {
  if (result.summary.empty()) return {};
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
    const auto spread = spread_of(result, summary);
    const auto cell = [&](std::optional<double> value) -> std::string {
      if (!value) return "–";
      Shown shown =
          show(*value, summary.info.unit, spread ? std::optional(spread->half) : std::nullopt);
      shown.half.clear();
      return shown.text();
    };
    const bool interval = summary.ci95_low && summary.ci95_high;
    table.rows.push_back(
        {{metric_name(summary.info), std::to_string(summary.n),
          markup("<b translate=\"no\">{}</b>", cell(summary.median)),
          page::name(cell(summary.mean)),
          page::name(interval ? cell(summary.ci95_low) + " – " + cell(summary.ci95_high) : "–"),
          summary.cv ? show_percent(*summary.cv) : "–", page::name(cell(summary.min)),
          page::name(cell(summary.max)), page::name(cell(summary.olympic_mean))}});
    if (!summary.note.empty() && std::ranges::find(notes, summary.note) == notes.end())
      notes.push_back(summary.note);
  }
  Html content = page::scrolling(page::to_html(table));
  for (const std::string& note : notes) content += remark(Html::text(note));
  return details("Statistics over rounds", content, "stats");
}

}  // namespace

Html case_section(const CaseResult& result, std::size_t number, std::size_t max_points) {
  return fill(
      assets::kCase,
      {{"id", fmt::format("case-{}", number)},
       {"heading", fmt::format("h-{}", number)},
       {"name", result.name},
       {"subtitle", case_subtitle(result)},
       {"chip", chip(result)},
       {"content", rules_notice(result) + findings(folded_findings(merged_findings(result))) +
                       cards_of(result) + time_bars(result) + rounds(result, number, max_points) +
                       about_rounds(result) + hooks(result.hooks) + statistics(result) +
                       configuration(result) + rules_in_force(result)}});
}

}  // namespace assay::report::html
