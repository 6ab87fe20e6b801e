#include "commands/base/outcome.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "commands/base/extras.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/host.h"
#include "core/run_layout.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "judge/judge.h"
#include "report/console.h"
#include "report/mllog.h"
#include "report/present.h"
#include "report/report.h"

namespace assay::commands {

int exit_code_of(const judge::RunResult& result) noexcept {
  bool launch_failed = false;
  bool round_failed = false;
  for (const judge::CaseResult& case_result : result.cases) {
    for (const judge::RoundResult& round : case_result.rounds) {
      launch_failed |= round.status == RoundStatus::launch_failed;
      // A missing round makes the run INCOMPLETE; an INVALID one is no less so.
      round_failed |=
          round.status != RoundStatus::completed && round.status != RoundStatus::not_run;
    }
  }
  if (launch_failed) return exit_code(ErrorKind::launch);
  if (round_failed || result.validity == judge::Validity::incomplete)
    return exit_code(ErrorKind::round_failed);
  if (result.validity == judge::Validity::invalid) return exit_code(ErrorKind::invalid);
  return 0;
}

namespace {

// Covers every experiment, including one that was stopped and so has no result in the table.
std::string experiment_scores(const judge::RunResult& result) {
  std::string out;
  for (const judge::CaseResult& case_result : result.cases) {
    for (const judge::RoundResult& round : case_result.rounds) {
      const judge::Metric* score = report::find_metric(round, "automl_score");
      const judge::Metric* error = report::find_metric(round, "automl_error");
      const judge::Metric* time = report::find_metric(round, "automl_time");
      if (score == nullptr || error == nullptr || time == nullptr) continue;
      out += fmt::format("Score: {} round {}: {} in {}, error {}{}\n", printable(case_result.name),
                         round.round, report::show(score->value, score->info.unit).text(),
                         report::show(time->value, "s").text(), report::show_percent(error->value),
                         round.validity == judge::Validity::valid ? "" : " (does not count)");
    }
  }
  return out;
}

}  // namespace

judge::RunResult judge_and_report(const store::RunDir& run) {
  judge::RunResult result = judge::judge_run(run);
  std::optional<Error> unwritten;
  try {
    report::write_reports(result, run.plan(), run.path());
  } catch (const Error& error) {
    unwritten = error;
  }
  const std::string page = unwritten ? "" : (run.path() / layout::kReportHtml).string();
  say("\n" + report::render_console(result, console_style(page)));
  say(experiment_scores(result));
  // A user who names a submission means to hand in the logs.
  if (!run.plan().submission.empty())
    for (const std::string& obstacle : report::mllog_obstacles(result, run.plan()))
      tell("MLPerf's checker: " + printable(obstacle) + "\n");
  for (const std::string_view name : {layout::kSucceeded, layout::kFailed})
    if (const auto file = run.path() / name; std::filesystem::exists(file))
      tell("Experiment: " + file.string() + "\n");
  if (unwritten)
    throw Error(ErrorKind::environment, "the reports could not be written: " + unwritten->message(),
                unwritten->where(),
                "the result above counts; for its files, make room or copy the run to a folder "
                "that can be written, and give 'assay report' the copy");
  return result;
}

int conclude(const store::RunDir& run) {
  const int code = exit_code_of(judge_and_report(run));
  enter_in_history(run, true);
  return code;
}

void enter_in_history(const store::RunDir& run, bool create) {
  std::vector<std::string> command{(program_folder() / kFullProgram).string(), "index-run",
                                   run.path().string()};
  if (create) command.emplace_back("--create");
  try {
    (void)run_command(command);
  } catch (const Error&) {
    // The next query finds the run anyway.
  }
}

}  // namespace assay::commands
