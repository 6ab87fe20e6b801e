#include <memory>
#include <string>

#include "commands/base/commands.h"
#include "commands/base/outcome.h"
#include "commands/base/terminal.h"
#include "commands/runs/execute.h"
#include "core/error.h"
#include "report/pack.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

int make_report(const std::string& path, bool logs) {
  const store::RunDir run = store::RunDir::open(path);
  if (logs && store::RunLock::held(run.path()))
    throw Error(ErrorKind::usage, "the run is going on, and packing its logs would disturb it",
                path, "pack them when it has ended, or end it with 'assay stop'");
  const judge::RunResult result = judge_and_report(run);
  show_train_records(run);
  if (logs) tell("Logs: " + report::pack_logs(result, run.path()).string() + "\n");
  // A folder to which somebody copied a run does not become a folder of results.
  enter_in_history(run, false);
  return exit_code_of(result);
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto run = std::make_shared<std::string>();
  const auto logs = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "report", "Compute metrics, verdicts and every report again from a run's evidence");
  command->add_option("run", *run, "Folder of a run")->required()->type_name("RUN");
  command->add_flag("--logs", *logs,
                    "Also collect what an experiment left in logs/, and pack all as one archive");
  command->footer(
      "Examples:\n"
      "  assay report results/latest\n"
      "  assay report results/latest --logs\n"
      "\n"
      "The same evidence gives the same result.json, byte for byte. The exit code is that of the "
      "run.");
  command->callback(
      [run, logs, &action] { action = [run, logs] { return make_report(*run, *logs); }; });
}

}  // namespace assay::commands
