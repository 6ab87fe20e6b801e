#include "report/experiment_score.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/experiment_text.h"
#include "report/html_parts.h"
#include "report/html_rounds.h"
#include "report/present.h"

namespace assay::report::experiment {

using page::Html;

namespace {

constexpr std::size_t kPoints = 400;
constexpr std::string_view kOwn = "automl_";

Html charts_of(const ExperimentView& view, bool own) {
  judge::RoundResult round;
  for (const judge::Series& series : view.round->series)
    if (series.name.starts_with(kOwn) == own) round.series.push_back(series);
  return html::round_charts(round, kPoints);
}

}  // namespace

Html cards(const ExperimentView& view) {
  const automl::ExperimentRecord& record = view.record;
  const automl::ScorePoint& last = record.final;
  std::vector<html::Card> list;
  const auto add = [&](std::string title, const Shown& value, std::string below) {
    list.push_back({.title = std::move(title),
                    .value = value.number,
                    .unit = value.unit,
                    .below = std::move(below)});
  };
  if (record.best) {
    add("Regulated score", show(last.score, "OPS"),
        "exact count: " + show(last.score_exact, "OPS").text());
    list.back().headline = true;
    const auto& best = record.trials[static_cast<std::size_t>(*record.best)];
    add("Error", {fmt::format("{:.2f}", last.error * 100), "%"},
        fmt::format("trial {}: accuracy {}", best.id, accuracy_text(best.accuracy.value_or(0))));
  }
  add("Operations per second", show(last.ops, "OPS"),
      "exact count: " + show(last.ops_exact, "OPS").text());
  add("Trials", {fmt::format("{}", record.count(automl::TrialStatus::ok)), ""},
      fmt::format("{} failed, {} proposed", record.count(automl::TrialStatus::failed),
                  record.trials.size()));
  add("Workers", {fmt::format("{}", view.workers.size()), ""},
      record.idle_share ? "idle for " + show_percent(*record.idle_share) : std::string());
  if (record.wait_share)
    add("Wait between trials", {show_percent(*record.wait_share), ""}, "of the time of the trials");
  add("Time", show(record.elapsed_s, "s"), "without pauses between resumptions");
  double search = 0;
  for (const automl::TrialRecord& trial : record.trials) search += trial.search_s;
  if (!record.trials.empty())
    add("Search", show(search / static_cast<double>(record.trials.size()), "s"),
        "for one proposal, in the mean");
  return html::cards(list, 4);
}

Html score_charts(const ExperimentView& view) {
  return charts_of(view, true);
}

Html resources(const ExperimentView& view) {
  return charts_of(view, false);
}

}  // namespace assay::report::experiment
