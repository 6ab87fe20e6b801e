#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/experiment_parts.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report::experiment {

namespace {

constexpr std::size_t kPoints = 400;
constexpr std::string_view kOwn = "automl_";

std::string card(std::string_view title, const Shown& value, const std::string& below,
                 bool headline = false) {
  return fmt::format(
      "<div class=\"card{}\"><dt>{}</dt><dd><span class=\"value\">{}</span> <span "
      "class=\"unit\">{}</span><span class=\"sub\">{}</span></dd></div>\n",
      headline ? " headline" : "", escape_markup(title), escape_markup(value.number),
      escape_markup(value.unit), escape_markup(below));
}

std::string charts_of(const ExperimentView& view, bool own) {
  judge::RoundResult round;
  for (const judge::Series& series : view.round->series)
    if (series.name.starts_with(kOwn) == own) round.series.push_back(series);
  return html::round_charts(round, kPoints);
}

}  // namespace

std::string accuracy_text(double accuracy) {
  return fmt::format("{:.2f} %", accuracy * 100);
}

std::string cards(const ExperimentView& view) {
  const automl::ExperimentRecord& record = view.record;
  const automl::ScorePoint& last = record.final;
  int ok = 0;
  int failed = 0;
  for (const automl::TrialRecord& trial : record.trials) {
    ok += trial.status == "ok" ? 1 : 0;
    failed += trial.status == "failed" ? 1 : 0;
  }
  std::string out = "<dl class=\"cards\" style=\"--columns:4\">";
  if (record.best) {
    out += card("Regulated score", show(last.score, "OPS"),
                "exact count: " + show(last.score_exact, "OPS").text(), true);
    const auto& best = record.trials[static_cast<std::size_t>(*record.best)];
    out += card(
        "Error", {fmt::format("{:.2f}", last.error * 100), "%"},
        fmt::format("trial {}: accuracy {}", best.id, accuracy_text(best.accuracy.value_or(0))));
  }
  out += card("Operations per second", show(last.ops, "OPS"),
              "exact count: " + show(last.ops_exact, "OPS").text());
  out += card("Trials", {fmt::format("{}", ok), ""},
              fmt::format("{} failed, {} proposed", failed, record.trials.size()));
  out += card("Workers", {fmt::format("{}", view.workers.size()), ""},
              record.idle_share ? "idle for " + show_percent(*record.idle_share) : std::string());
  if (record.wait_share)
    out += card("Wait between trials", {show_percent(*record.wait_share), ""},
                "of the time of the trials");
  out += card("Time", show(record.elapsed_s, "s"), "without pauses between resumptions");
  double search = 0;
  for (const automl::TrialRecord& trial : record.trials) search += trial.search_s;
  if (!record.trials.empty())
    out += card("Search", show(search / static_cast<double>(record.trials.size()), "s"),
                "for one proposal, in the mean");
  return out + "</dl>\n";
}

std::string score_charts(const ExperimentView& view) {
  return charts_of(view, true);
}

std::string resources(const ExperimentView& view) {
  return charts_of(view, false);
}

}  // namespace assay::report::experiment
