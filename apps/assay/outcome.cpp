#include "outcome.h"

#include "core/error.h"
#include "judge/judge.h"
#include "report/console.h"
#include "report/report.h"
#include "terminal.h"

namespace assay::app {

int exit_code_of(const judge::RunResult& result) noexcept {
  bool launch_failed = false;
  bool round_failed = false;
  for (const judge::CaseResult& one : result.cases) {
    for (const judge::RoundResult& round : one.rounds) {
      launch_failed |= round.status == judge::RoundStatus::launch_failed;
      round_failed |= round.status != judge::RoundStatus::completed;
    }
  }
  if (launch_failed) return exit_code(ErrorKind::launch);
  if (round_failed || result.validity == judge::Validity::incomplete)
    return exit_code(ErrorKind::round_failed);
  if (result.validity == judge::Validity::invalid) return exit_code(ErrorKind::invalid);
  return 0;
}

int conclude(const store::RunDir& run) {
  const judge::RunResult result = judge::judge_run(run);
  report::write_reports(result, run.path());
  const std::string page = (run.path() / "report.html").string();
  say("\n" + report::render_console(result, console_style(page)));
  return exit_code_of(result);
}

}  // namespace assay::app
