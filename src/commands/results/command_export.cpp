#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/results/history_folder.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/run_layout.h"
#include "core/text.h"
#include "exports/csv_tables.h"
#include "exports/mlflow.h"
#include "exports/openmetrics.h"
#include "exports/wandb.h"
#include "lang/language.h"
#include "report/read_result.h"
#include "tensorboard/run_events.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string run;
  std::string to;
  std::string results = "results";

  [[nodiscard]] fs::path run_path() const { return run_folder(run, results); }
  [[nodiscard]] fs::path target(const fs::path& usual) const {
    return to.empty() ? usual : fs::path(to);
  }
};

judge::RunResult result_of(const fs::path& run) {
  const fs::path file = run / layout::kResult;
  std::error_code ec;
  if (!fs::exists(file, ec))
    throw Error(ErrorKind::usage, "the run has no result yet", run.string(),
                "'assay report " + shell_quote(run.string()) + "' makes it");
  return report::read_result(parse_json(read_file(file), file.string()), file.string());
}

void must_be_empty(const fs::path& folder, const char* why) {
  std::error_code ec;
  if (fs::exists(folder, ec) && !fs::is_empty(folder, ec))
    throw Error(ErrorKind::usage, "the folder is not empty", folder.string(), why);
}

int export_tensorboard(const ExportArguments& arguments) {
  const fs::path run = arguments.run_path();
  const fs::path folder = arguments.target(fs::path("tensorboard") / run.filename());
  must_be_empty(folder, "TensorBoard shows all that is there: give another one with --to");
  tensorboard::RunEvents events(run, folder);
  events.look();
  if (events.files() == 0)
    throw Error(ErrorKind::usage, "the run has no rank's log and no telemetry", run.string());
  tell(fmt::format("{} in {}\nShow them with: tensorboard --logdir {}\n",
                   counted(events.files(), "event file"), lang::name(printable(folder.string())),
                   shell_quote(folder.string())));
  return 0;
}

int export_mlflow(const ExportArguments& arguments) {
  const fs::path run = arguments.run_path();
  const judge::RunResult result = result_of(run);
  const fs::path store = arguments.target("mlruns");
  const exports::MlflowExport made = exports::export_mlflow(exports::RunFiles(run), result, store);
  tell(fmt::format(
      "{} of the experiment {} in {}\nShow them with: mlflow ui --backend-store-uri {}\n",
      counted(made.runs, "run"), lang::name(printable(made.experiment)),
      lang::name(printable(store.string())), shell_quote(store.string())));
  return 0;
}

int export_wandb(const ExportArguments& arguments) {
  const fs::path run = arguments.run_path();
  const judge::RunResult result = result_of(run);
  const fs::path folder = arguments.target("wandb");
  const exports::WandbExport made = exports::export_wandb(exports::RunFiles(run), result, folder);
  // Older clients do not search a folder of runs.
  tell(fmt::format("{} of the project {} in {}\nUpload them with: wandb sync {}\n",
                   counted(made.folders.size(), "run"), lang::name(printable(made.project)),
                   lang::name(printable(folder.string())),
                   made.folders.size() == 1 ? shell_quote(made.folders.front().string())
                                            : shell_quote(folder.string()) + "/offline-run-*"));
  return 0;
}

int export_csv(const ExportArguments& arguments) {
  const fs::path run = arguments.run_path();
  const fs::path folder = arguments.target(fs::path("csv") / run.filename());
  must_be_empty(folder, "give another one with --to");
  const exports::RunFiles files(run);
  const auto wrote = [&](const char* name, std::uint64_t rows) {
    tell(fmt::format("{}: {}\n", lang::name(printable((folder / name).string())),
                     counted(rows, "row")));
  };
  wrote("steps.csv", exports::write_steps(files, folder / "steps.csv"));
  wrote("evaluations.csv", exports::write_evaluations(files, folder / "evaluations.csv"));
  wrote("telemetry.csv", exports::write_telemetry(files, folder / "telemetry.csv"));
  return 0;
}

int export_openmetrics(const ExportArguments& arguments) {
  const std::string text = exports::render_openmetrics(result_of(arguments.run_path()));
  if (arguments.to.empty() || arguments.to == "-") {
    fmt::print("{}", text);
    return 0;
  }
  // Replaces the file at once, because a collector may read it at any moment.
  write_output_file(arguments.to, text);
  say(printable(arguments.to) + "\n");
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = add_known(app, "export");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  assay export csv results/latest --to tables\n"
      "  assay export tensorboard results/latest --to curves\n"
      "  assay export openmetrics results/latest --to assay.prom\n"
      "\n"
      "The run is not changed. docs/exports.md says what each format holds.");
  const auto add = [&](const char* name, const char* what, const char* to, const char* footer,
                       int (*run)(const ExportArguments&)) {
    CLI::App* format = command->add_subcommand(name, what);
    format->add_option("run", arguments->run, "The run")->required()->type_name("RUN");
    format->add_option("-o,--to", arguments->to, to)->type_name("PATH");
    format->add_option("--results", arguments->results, "Folder of the runs")
        ->type_name("DIR")
        ->capture_default_str();
    format->footer(footer);
    format->callback(
        [arguments, &action, run] { action = [arguments, run] { return run(*arguments); }; });
  };
  add("tensorboard", "Its curves as event files for TensorBoard",
      "Folder to make; default: tensorboard/RUN",
      "Examples:\n"
      "  assay export tensorboard results/latest\n"
      "  assay export tensorboard results/run20261115T101500Z-3f2a --to /tmp/curves\n"
      "  tensorboard --logdir tensorboard\n"
      "\n"
      "A folder for each rank and node of a round: loss, learning rate, accuracy, speed and the "
      "parts\nof a step over the steps; utilization, memory, power and temperature over the "
      "seconds of the\nround (docs/exports.md).",
      export_tensorboard);
  add("mlflow", "Its rounds as runs of MLflow, with settings, results and curves",
      "File store to add them to; default: mlruns",
      "Examples:\n"
      "  assay export mlflow results/latest\n"
      "  mlflow ui --backend-store-uri mlruns\n"
      "\n"
      "The suite is an experiment, each round a run (docs/exports.md). A round that is there "
      "already is\nnot written again.",
      export_mlflow);
  add("csv", "Its steps, evaluations and telemetry as tables", "Folder to make; default: csv/RUN",
      "Examples:\n"
      "  assay export csv results/latest\n"
      "  python3 -c 'import pandas; print(pandas.read_csv(\"steps.csv\"))'\n"
      "  duckdb -c \"select rank, avg(step_s) from 'steps.csv' group by rank\"\n"
      "\n"
      "pandas, DuckDB and R read them as they are; docs/exports.md has the columns. results.csv of "
      "the\nrun has its metrics.",
      export_csv);
  add("openmetrics", "Its verdicts and results as text for Prometheus",
      "File to write; default: standard output",
      "Examples:\n"
      "  assay export openmetrics results/latest --to /var/lib/node_exporter/textfile/assay.prom\n"
      "  assay export openmetrics results/latest | curl --data-binary @- "
      "http://pushgateway:9091/metrics/job/assay\n"
      "\n"
      "One family for each metric, with its statistics over the rounds (docs/exports.md). 'assay "
      "prometheus'\nis about the machines while a run goes on.",
      export_openmetrics);
  add("wandb", "Its rounds as offline runs of Weights & Biases, with settings, results and curves",
      "Folder to add them to; default: wandb",
      "Examples:\n"
      "  assay export wandb results/latest\n"
      "  wandb sync wandb/offline-run-*\n"
      "\n"
      "The suite is a project, the run a group, each round a run (docs/exports.md). Nothing is "
      "sent "
      "from\nhere: that is what 'wandb sync' does. A round that is there already is not written "
      "again.",
      export_wandb);
}

}  // namespace assay::commands
