#include "report/report.h"

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "report/console.h"
#include "report/csv.h"
#include "report/experiment.h"
#include "report/html.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/mllog.h"

namespace assay::report {

namespace {

std::string text_at(const Json& object, const char* key, const std::string& fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : fallback;
}

// Only what the logs can use, so that a damaged or older plan never stops a report.
std::map<std::string, MllogContext> contexts_of(const judge::RunResult& result,
                                                const std::filesystem::path& plan_file) {
  MllogContext base;
  if (result.provenance.is_object() && result.provenance.contains("submission")) {
    const Json& submission = result.provenance["submission"];
    base.org = text_at(submission, "org", base.org);
    base.division = text_at(submission, "division", base.division);
    base.status = text_at(submission, "status", base.status);
    base.platform = text_at(submission, "platform", base.platform);
    base.benchmark = text_at(submission, "benchmark", base.benchmark);
  }
  std::map<std::string, MllogContext> contexts;
  for (const judge::CaseResult& one : result.cases) contexts[one.name] = base;
  const Json plan = parse_json_or_null(read_file_or_empty(plan_file));
  if (!plan.is_object() || !plan.contains("cases") || !plan["cases"].is_array()) return contexts;
  for (const Json& planned : plan["cases"]) {
    const auto found = contexts.find(text_at(planned, "name", ""));
    if (found == contexts.end()) continue;
    if (planned.contains("config") && planned["config"].is_object())
      found->second.config = planned["config"];
    if (planned.contains("target")) {
      const std::string metric = text_at(planned["target"], "metric", "");
      if (!metric.empty()) found->second.target_metric = metric;
    }
  }
  return contexts;
}

void write_mllogs(const judge::RunResult& result, const std::filesystem::path& run_dir) {
  auto contexts = contexts_of(result, run_dir / "plan.json");
  std::set<std::string> taken;
  std::set<std::string> written;
  for (const judge::CaseResult& one : result.cases) {
    MllogContext& context = contexts[one.name];
    for (const judge::RoundResult& round : one.rounds) {
      std::string name = mllog_file_name(one.name, round.round);
      while (!taken.insert(name).second) name.insert(0, "_");
      context.file = "mllog/" + name;
      const std::string log = render_mllog(one, round, context);
      if (log.empty()) continue;
      make_directories(run_dir / "mllog");
      write_file_atomic(run_dir / "mllog" / name, log);
      written.insert(name);
    }
  }
  // Logs of rounds that this result does not have any more.
  std::error_code ec;
  std::vector<std::filesystem::path> stale;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "mllog", ec))
    if (entry.path().extension() == ".txt" && !written.contains(entry.path().filename().string()))
      stale.push_back(entry.path());
  for (const auto& path : stale) std::filesystem::remove(path, ec);
}

// One of two names says how it ended; the other one's file would be that of an earlier verdict.
void write_experiments(const judge::RunResult& result, const std::filesystem::path& run_dir) {
  const std::vector<ExperimentView> experiments = load_experiments(result, run_dir);
  const std::string_view name = experiments.empty() ? "" : experiment_file(experiments);
  if (!experiments.empty())
    write_file_atomic(run_dir / name, render_experiments(result, experiments));
  std::error_code ec;
  for (const std::string_view other : {kSucceeded, kFailed})
    if (other != name) std::filesystem::remove(run_dir / other, ec);
}

}  // namespace

void write_reports(const judge::RunResult& result, const std::filesystem::path& run_dir) {
  make_directories(run_dir);
  write_file_atomic(run_dir / "report.html", render_html(result));
  write_file_atomic(run_dir / "report.txt",
                    render_console(result, {.report = "report.html, beside this file"}));
  write_file_atomic(run_dir / "results.csv", render_csv(result));
  write_file_atomic(run_dir / "ranks.csv", render_ranks_csv(result));
  write_file_atomic(run_dir / "junit.xml", render_junit(result));
  write_mllogs(result, run_dir);
  write_experiments(result, run_dir);
  // Last: whoever waits for result.json finds the others complete.
  write_file_atomic(run_dir / "result.json", render_json(result));
}

}  // namespace assay::report
