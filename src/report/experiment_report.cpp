#include "report/experiment_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/files.h"
#include "core/run_layout.h"
#include "page/template.h"
#include "report/experiment_family.h"
#include "report/experiment_network.h"
#include "report/experiment_prediction.h"
#include "report/experiment_score.h"
#include "report/experiment_trials.h"
#include "report/experiment_workers.h"
#include "report/html_page.h"
#include "report/html_parts.h"
#include "report/html_system.h"
#include "report/present.h"
#include "report/report_assets.h"

namespace assay::report {

using page::Html;

namespace {

using judge::RunResult;
using judge::Validity;

Validity worst_of(const std::vector<ExperimentView>& views) {
  Validity worst = Validity::valid;
  for (const ExperimentView& view : views) {
    const Validity validity = view.result->validity;
    if (validity == Validity::invalid || worst == Validity::valid) worst = validity;
    if (worst == Validity::invalid) break;
  }
  return worst;
}

std::string how_it_ended(const automl::ExperimentRecord& record) {
  if (!record.ended) return "its end was not recorded";
  switch (*record.ended) {
    case automl::ExperimentEnd::time:
      return "its time was over";
    case automl::ExperimentEnd::trials:
      return "it had all its trials";
    case automl::ExperimentEnd::stopped:
      return "stopped by the user";
    case automl::ExperimentEnd::exhausted:
      return "no further architecture within the limits";
    case automl::ExperimentEnd::failed:
      return "it failed";
  }
  return {};
}

std::string sentence(const std::vector<ExperimentView>& views) {
  if (views.size() != 1) {
    const auto valid = std::ranges::count_if(
        views, [](const ExperimentView& view) { return view.result->validity == Validity::valid; });
    return fmt::format("{} of {} experiments have a valid score.", valid, views.size());
  }
  const automl::ExperimentRecord& record = views[0].record;
  if (!record.best) return "No trial was measured: there is no score.";
  const std::string score = show(record.final.score, "OPS").text();
  if (views[0].result->validity == Validity::valid)
    return fmt::format("A regulated score of {}.", score);
  return fmt::format("The score does not count; it would be {}.", score);
}

Html facts(const RunResult& result, const std::vector<ExperimentView>& views) {
  Html out = html::fact("Run", html::code(result.run_id));
  if (views.size() == 1) {
    const ExperimentView& view = views[0];
    const automl::ExperimentRecord& record = view.record;
    if (!view.round->started.empty())
      out += html::fact("Started", html::time_element(view.round->started));
    out += html::fact("Took", show(record.elapsed_s, "s").text());
    out += html::fact("Ended", how_it_ended(record));
    if (record.resumed > 0)
      out += html::fact("Resumed",
                        record.resumed == 1 ? "once" : fmt::format("{} times", record.resumed));
  }
  out += html::fact("Machine", html::machine_line(result.system));
  return out + html::fact("Assay", html::version_of(result.provenance));
}

Html section(std::string_view title, std::string_view text, const Html& content) {
  if (content.empty()) return {};
  return page::fill(assets::kExperimentSection,
                    {{"title", title}, {"text", text}, {"content", content}});
}

Html one_experiment(const ExperimentView& view, std::size_t number) {
  using namespace experiment;
  const judge::CaseResult& result = *view.result;
  const Html subtitle = case_subtitle(result);
  Html out = page::fill(
      assets::kCase,
      {{"id", fmt::format("experiment-{}", number)},
       {"heading", ""},
       {"name", result.name},
       {"subtitle",
        view.record.detail.empty() ? subtitle : subtitle + Html::text(" · " + view.record.detail)},
       {"chip", html::chip(result.validity)},
       {"content", html::findings(folded_findings(merged_findings(result))) + cards(view) +
                       score_charts(view)}});
  out += section("Best network",
                 "Bars are layers from the input to the output, as high as their "
                 "image and as wide as they have channels; arcs are skips.",
                 network(view));
  out += section("Family tree",
                 "Every model is a morphism of its parent. The fuller a dot, the "
                 "more accurate the model; the line to the best one is marked.",
                 family(view));
  out += section("Workers", "What every worker did over the time of the experiment.",
                 worker_lines(view));
  out += section("Predictions",
                 "What the Gaussian process expected of a model before it was "
                 "trained, with its deviation, against what was measured.",
                 prediction(view));
  out += section("Trials", "In the order in which they were proposed.", trial_table(view));
  return out + section("Nodes", "Resources used over the time of the experiment.", resources(view));
}

}  // namespace

std::vector<ExperimentView> experiments_of(const RunResult& result) {
  std::vector<ExperimentView> views;
  for (const judge::CaseResult& case_result : result.cases)
    for (const judge::RoundResult& round : case_result.rounds)
      if (round.experiment)
        views.push_back(
            {&case_result, &round, round.experiment->record, round.experiment->workers});
  return views;
}

std::string_view experiment_file(const std::vector<ExperimentView>& experiments) {
  return worst_of(experiments) == Validity::valid ? layout::kSucceeded : layout::kFailed;
}

std::string render_experiments(const RunResult& result,
                               const std::vector<ExperimentView>& experiments) {
  const Validity verdict = worst_of(experiments);
  const std::string title = result.suite.empty() ? "experiment" : result.suite;
  Html all;
  for (std::size_t i = 0; i < experiments.size(); ++i) all += one_experiment(experiments[i], i + 1);
  const Html top = html::masthead({.brand = "Assay AutoML report",
                                   .title = title,
                                   .sentence = sentence(experiments),
                                   .facts = facts(result, experiments)},
                                  verdict, result.run_id);
  return html::page(fmt::format("{}: {} · AutoML", title, judge::to_string(verdict)),
                    page::fill(assets::kExperiments, {{"masthead", top}, {"experiments", all}}));
}

void write_experiments(const ReportInput& input) {
  const std::vector<ExperimentView> experiments = experiments_of(input.result);
  const std::string_view name = experiments.empty() ? "" : experiment_file(experiments);
  if (!experiments.empty())
    write_file_atomic(input.run_dir / name, render_experiments(input.result, experiments));
  std::error_code ec;
  for (const std::string_view other : {layout::kSucceeded, layout::kFailed})
    if (other != name) std::filesystem::remove(input.run_dir / other, ec);
}

}  // namespace assay::report
