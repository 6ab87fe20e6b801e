#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "report/chart.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report::html {

namespace {

using judge::CaseResult;
using judge::Metric;
using judge::RoundResult;
using judge::Summary;
using judge::Validity;

constexpr std::size_t kMaxCards = 12;
constexpr std::size_t kMaxRankRows = 96;

std::string status_words(RoundStatus status) {
  switch (status) {
    case RoundStatus::completed:
      return "completed";
    case RoundStatus::failed:
      return "failed";
    case RoundStatus::timed_out:
      return "ended by the time limit";
    case RoundStatus::stalled:
      return "ended because it stalled";
    case RoundStatus::interrupted:
      return "interrupted";
    case RoundStatus::launch_failed:
      return "could not be started";
    case RoundStatus::lost:
      return "lost";
    case RoundStatus::not_run:
      break;
  }
  return "not run";
}

std::string better_mark(Better better) {
  switch (better) {
    case Better::higher:
      return "&nbsp;<abbr class=\"dir\" title=\"higher is better\">↑</abbr>";
    case Better::lower:
      return "&nbsp;<abbr class=\"dir\" title=\"lower is better\">↓</abbr>";
    case Better::neither:
      break;
  }
  return {};
}

std::string card(const MetricInfo& info, const Shown& shown, const std::string& origin,
                 const std::string& below, bool headline) {
  std::string out =
      fmt::format("<div class=\"card{}\"{}><dt>{}{}</dt><dd><span class=\"value\">{}</span>",
                  headline ? " headline" : "",
                  info.description.empty() ? std::string()
                                           : " title=\"" + escape_markup(info.description) + "\"",
                  escape_markup(metric_title(info.name)), better_mark(info.better),
                  escape_markup(shown.number));
  if (!shown.unit.empty())
    out += fmt::format(" <span class=\"unit\">{}</span>", escape_markup(shown.unit));
  if (!origin.empty() && origin != "measured")
    out += fmt::format(" <span class=\"origin\">{}</span>", escape_markup(origin));
  if (!below.empty()) out += fmt::format("<span class=\"sub\">{}</span>", escape_markup(below));
  return out + "</dd></div>\n";
}

std::string below_card(const Summary& summary) {
  const std::string rounds = fmt::format("{} round{}", summary.n, summary.n == 1 ? "" : "s");
  const auto spread = spread_of(summary);
  return spread ? fmt::format("± {} · {}", show_percent(spread->ratio), rounds) : rounds;
}

// What says most about a case, in this order after the headline; "*" stands for the metrics that
// the workload or the user named. The rest of the catalogue is in the tables.
constexpr std::array<std::string_view, 18> kCards{"p_whole",
                                                  "p_train",
                                                  "p_core",
                                                  "tokens_per_s",
                                                  "scaling_efficiency",
                                                  "e2e_time",
                                                  "time_to_target",
                                                  "*",
                                                  "step_time_p50",
                                                  "step_time_p99",
                                                  "node_imbalance",
                                                  "mfu",
                                                  "energy_j",
                                                  "samples_per_joule",
                                                  "mean_power_w",
                                                  "device_util",
                                                  "cpu_util",
                                                  "loss_last"};

std::size_t card_place(const std::string& name, const std::string& headline) {
  if (name == headline) return 0;
  const std::string_view wanted = is_known_metric(name) ? std::string_view(name) : "*";
  const auto found = std::ranges::find(kCards, wanted);
  return found == kCards.end() ? std::numeric_limits<std::size_t>::max()
                               : 1 + static_cast<std::size_t>(found - kCards.begin());
}

std::string cards(const CaseResult& result) {
  struct Entry {
    std::size_t place;
    std::string markup;
  };
  std::vector<Entry> entries;
  const auto add = [&](const MetricInfo& info, double value, const std::string& origin,
                       const std::string& below) {
    const std::size_t place = card_place(info.name, result.headline);
    if (place == std::numeric_limits<std::size_t>::max()) return;
    entries.push_back({place, card(info, show(value, info.unit), origin, below, place == 0)});
  };
  for (const Summary& summary : result.summary)
    add(summary.info, summary.median, summary.origin, below_card(summary));
  // No round counts: what was measured is still shown, and said not to count.
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
  const std::size_t count = std::min(entries.size(), kMaxCards);
  const std::size_t rows = (count + 4) / 5;
  std::string out =
      fmt::format("<dl class=\"cards\" style=\"--columns:{}\">", (count + rows - 1) / rows);
  for (std::size_t i = 0; i < count; ++i) out += entries[i].markup;
  return out + "</dl>\n";
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
std::string phase_list(const RoundResult& round) {
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
  std::string out;
  for (std::size_t i = 0; i < std::min<std::size_t>(totals.size(), 8); ++i)
    out += fmt::format("<li><i class=\"{}\"></i>{} <b>{}</b></li>", phase_class(totals[i].first),
                       escape_markup(totals[i].first),
                       escape_markup(show(totals[i].second, "s").text()));
  return out.empty() ? out : "<ul class=\"phases\" aria-label=\"Phases\">" + out + "</ul>";
}

std::string series_title(const std::string& name) {
  static const std::map<std::string, std::string> kTitles{
      {"throughput", "Throughput"},          {"loss", "Loss"},   {"cpu_util", "CPU utilisation"},
      {"device_util", "Device utilisation"}, {"power", "Power"}, {"memory", "Memory"},
      {"device_memory", "Device memory"}};
  const auto found = kTitles.find(name);
  return found != kTitles.end() ? found->second : metric_title(name);
}

std::string metric_rows(const RoundResult& round) {
  if (round.metrics.empty()) return {};
  std::string out = fmt::format(
      "<details><summary>All {} metrics of round {}</summary><div "
      "class=\"scroll\"><table><thead><tr>"
      "<th>Metric</th><th class=\"n\">Value</th><th>Origin</th><th>How</th></tr></thead><tbody>\n",
      round.metrics.size(), round.round);
  for (const Metric& metric : round.metrics) {
    const std::string& how = metric.note.empty() ? metric.info.description : metric.note;
    out += fmt::format(
        "<tr><td>{} <code>{}</code></td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_markup(metric_title(metric.info.name)), escape_markup(metric.info.name),
        escape_markup(show(metric.value, metric.info.unit).text()), escape_markup(metric.origin),
        escape_markup(how));
  }
  return out + "</tbody></table></div></details>\n";
}

std::string round_panel(const RoundResult& round, std::size_t max_points) {
  std::string out = fmt::format("<p class=\"status\">{} <span>Round {} {}", chip(round.validity),
                                round.round, status_words(round.status));
  if (!round.reason.empty() && round.status != RoundStatus::completed)
    out += ": " + escape_markup(round.reason);
  out += "</span>";
  if (!round.started.empty()) {
    out += fmt::format("<span class=\"when\">{}", escape_markup(round.started));
    if (!round.ended.empty()) out += " → " + escape_markup(round.ended);
    out += "</span>";
  }
  out += "</p>" + phase_list(round) + round_charts(round, max_points);
  return out + rank_table(round, kMaxRankRows) + metric_rows(round);
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
std::string rounds(const CaseResult& result, std::size_t number, std::size_t max_points) {
  if (result.rounds.empty()) return "<p class=\"more\">No round was run.</p>\n";
  const std::size_t chosen = representative(result);
  std::string out = "<div class=\"tabs\" role=\"group\" aria-label=\"Rounds\">\n";
  for (std::size_t i = 0; i < result.rounds.size(); ++i) {
    const RoundResult& round = result.rounds[i];
    const std::string id = fmt::format("c{}r{}", number, i + 1);
    out += fmt::format(
        "<input type=\"radio\" name=\"c{0}\" id=\"{1}\"{2}><label for=\"{1}\" class=\"{3}\">Round "
        "{4}"
        "{5}</label>\n<div class=\"panel\">{6}</div>\n",
        number, id, i == chosen ? " checked" : "", css_class(round.validity), round.round,
        round.validity == Validity::valid
            ? std::string()
            : fmt::format(" <span class=\"mini\">{}</span>", judge::to_string(round.validity)),
        round_panel(round, max_points));
  }
  return out + "</div>\n";
}

std::string statistics(const CaseResult& result) {
  if (result.summary.empty()) return {};
  const auto cell = [](std::optional<double> value, const std::string& unit) {
    return value ? escape_markup(show(*value, unit).text()) : std::string("–");
  };
  std::string out = fmt::format(
      "<details class=\"stats\"><summary>Statistics over rounds</summary><div class=\"scroll\">"
      "<table><thead><tr><th>Metric</th><th class=\"n\">n</th><th class=\"n\">Median</th><th "
      "class=\"n\">Mean</th><th class=\"n\">95 % CI of the mean</th><th class=\"n\">CV</th><th "
      "class=\"n\">Min</th><th class=\"n\">Max</th><th class=\"n\">Olympic mean</th></tr></thead>"
      "<tbody>\n");
  std::vector<std::string> notes;
  for (const Summary& summary : result.summary) {
    const std::string& unit = summary.info.unit;
    const bool interval = summary.ci95_low && summary.ci95_high;
    out += fmt::format(
        "<tr><td>{} <code>{}</code></td><td class=\"n\">{}</td><td class=\"n\"><b>{}</b></td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escape_markup(metric_title(summary.info.name)), escape_markup(summary.info.name), summary.n,
        cell(summary.median, unit), cell(summary.mean, unit),
        interval ? cell(summary.ci95_low, unit) + " – " + cell(summary.ci95_high, unit) : "–",
        summary.cv ? show_percent(*summary.cv) : "–", cell(summary.min, unit),
        cell(summary.max, unit), cell(summary.olympic_mean, unit));
    if (!summary.note.empty() && std::ranges::find(notes, summary.note) == notes.end())
      notes.push_back(summary.note);
  }
  out += "</tbody></table></div>";
  for (const std::string& note : notes) out += "<p class=\"more\">" + escape_markup(note) + "</p>";
  return out + "</details>\n";
}

}  // namespace

std::string round_charts(const RoundResult& round, std::size_t max_points) {
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
  std::string out;
  for (const Chart& chart : all) out += render_chart(chart);
  out += render_rank_speeds(round);
  return out.empty() ? out : "<div class=\"charts\">" + out + "</div>\n";
}

std::string case_section(const CaseResult& result, std::size_t number, std::size_t max_points) {
  std::string out = fmt::format(
      "<section class=\"case\" id=\"case-{0}\" aria-labelledby=\"h-{0}\"><header><div><h2 "
      "id=\"h-{0}\">{1}</h2><p class=\"subtitle\">{2}</p></div>{3}</header>\n",
      number, escape_markup(result.name), escape_markup(case_subtitle(result)),
      chip(result.validity));
  out += findings(result) + cards(result) + rounds(result, number, max_points) + statistics(result);
  return out + "</section>\n";
}

}  // namespace assay::report::html
