#include "report/experiment.h"

#include <algorithm>

#include <fmt/format.h>

#include "automl/experiment_journal.h"
#include "core/error.h"
#include "report/assets.h"
#include "report/experiment_parts.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/present.h"

namespace assay::report {

namespace {

using judge::RunResult;
using judge::Validity;

Validity worst_of(const std::vector<ExperimentView>& views) {
  Validity worst = Validity::valid;
  for (const ExperimentView& view : views) {
    const Validity one = view.result->validity;
    if (one == Validity::invalid || worst == Validity::valid) worst = one;
    if (worst == Validity::invalid) break;
  }
  return worst;
}

std::string how_it_ended(const automl::ExperimentRecord& record) {
  if (record.ended == "time") return "its time was over";
  if (record.ended == "trials") return "it had all its trials";
  if (record.ended == "stopped") return "stopped by the user";
  if (record.ended == "exhausted") return "no further architecture within the limits";
  if (record.ended == "failed") return "it failed";
  return record.ended.empty() ? "nobody saw its end" : record.ended;
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

std::string facts(const RunResult& result, const std::vector<ExperimentView>& views) {
  std::string out = html::fact("Run", "<code>" + escape_markup(result.run_id) + "</code>");
  if (views.size() == 1) {
    const ExperimentView& view = views[0];
    const automl::ExperimentRecord& record = view.record;
    if (!view.round->started.empty())
      out += html::fact("Started", html::time_element(view.round->started));
    out += html::fact("Took", escape_markup(show(record.elapsed_s, "s").text()));
    out += html::fact("Ended", escape_markup(how_it_ended(record)));
    if (record.resumed > 0)
      out += html::fact("Resumed", record.resumed == 1 ? std::string("once")
                                                       : fmt::format("{} times", record.resumed));
  }
  out += html::fact("Machine", html::machine_line(result.system));
  return out + html::fact("Assay", html::version_of(result.provenance));
}

std::string section(std::string_view title, std::string_view text, const std::string& content) {
  if (content.empty()) return {};
  return fmt::format(
      "<section class=\"experiment\"><h2>{}</h2><p class=\"subtitle\">{}</p>{}"
      "</section>\n",
      escape_markup(title), escape_markup(text), content);
}

std::string one_experiment(const ExperimentView& view, std::size_t number) {
  using namespace experiment;
  const judge::CaseResult& result = *view.result;
  std::string out = fmt::format(
      "<section class=\"case\" id=\"experiment-{0}\"><header><div><h2>{1}</h2><p "
      "class=\"subtitle\">{2}</p></div>{3}</header>\n",
      number, escape_markup(result.name),
      escape_markup(view.record.detail.empty()
                        ? case_subtitle(result)
                        : case_subtitle(result) + " · " + view.record.detail),
      html::chip(result.validity));
  out += html::findings(result) + cards(view) + score_charts(view) + "</section>\n";
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

std::vector<ExperimentView> load_experiments(const RunResult& result,
                                             const std::filesystem::path& run_dir) {
  std::vector<ExperimentView> views;
  for (const judge::CaseResult& one : result.cases) {
    for (const judge::RoundResult& round : one.rounds) {
      const auto file =
          run_dir / one.name / fmt::format("round{}", round.round) / "automl" / "journal.jsonl";
      std::error_code ec;
      if (!std::filesystem::is_regular_file(file, ec)) continue;
      try {
        const std::vector<Json> events = automl::ExperimentJournal::read(file);
        if (!events.empty())
          views.push_back({&one, &round, automl::record_of(events), automl::timeline_of(events)});
      } catch (const Error&) {
        continue;
      }
    }
  }
  return views;
}

std::string_view experiment_file(const std::vector<ExperimentView>& experiments) {
  return worst_of(experiments) == Validity::valid ? kSucceeded : kFailed;
}

std::string render_experiments(const RunResult& result,
                               const std::vector<ExperimentView>& experiments) {
  const Validity verdict = worst_of(experiments);
  const std::string title = result.suite.empty() ? "experiment" : result.suite;
  std::string body = html::masthead(verdict, result.run_id, "Assay AutoML report", title,
                                    sentence(experiments), facts(result, experiments));
  for (std::size_t i = 0; i < experiments.size(); ++i)
    body += one_experiment(experiments[i], i + 1);
  body +=
      "<footer><p>Score = −ln(error) × operations per second, with AIPerf's count of operations. "
      "Made from <code>automl/journal.jsonl</code> of the round alone; <code>report.html</code> "
      "beside this file has all metrics and rules.</p></footer>\n";
  return html::page(fmt::format("{}: {} · AutoML", title, judge::to_string(verdict)),
                    std::string(assets::style()) + std::string(assets::experiment_style()), body);
}

}  // namespace assay::report
