#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "history_folder.h"
#include "paths.h"
#include "tensorboard/run_events.h"
#include "terminal.h"

namespace assay::app {

namespace {

namespace fs = std::filesystem;

struct ExportArguments {
  std::string run;
  std::string to;
  std::string results = "results";
};

int export_tensorboard(const ExportArguments& arguments) {
  const fs::path run = run_folder(arguments.run, arguments.results);
  const fs::path folder =
      arguments.to.empty() ? fs::path("tensorboard") / run.filename() : fs::path(arguments.to);
  std::error_code ec;
  if (fs::exists(folder, ec) && !fs::is_empty(folder, ec))
    throw Error(ErrorKind::usage, "the folder is not empty", folder.string(),
                "TensorBoard shows all that is there: give another one with --to");
  tensorboard::RunEvents events(run, folder);
  events.look();
  if (events.files() == 0)
    throw Error(ErrorKind::usage, "the run has no rank's log and no telemetry", run.string());
  tell(fmt::format("{} in {}\nShow them with: tensorboard --logdir {}\n",
                   counted(events.files(), "event file"), printable(folder.string()),
                   shell_quote(folder.string())));
  return 0;
}

}  // namespace

void add_export(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<ExportArguments>();
  CLI::App* command = app.add_subcommand("export", "Write a run in the format of another program");
  command->require_subcommand(1);
  CLI::App* tensorboard =
      command->add_subcommand("tensorboard", "Its curves as event files for TensorBoard");
  tensorboard->add_option("run", arguments->run, "The run")->required()->type_name("RUN");
  tensorboard->add_option("-o,--to", arguments->to, "Folder to make; default: tensorboard/RUN")
      ->type_name("DIR");
  tensorboard->add_option("--results", arguments->results, "Folder of the runs")
      ->type_name("DIR")
      ->capture_default_str();
  tensorboard->footer(
      "Examples:\n"
      "  assay export tensorboard results/latest\n"
      "  assay export tensorboard results/run20261115T101500Z-3f2a --to /tmp/curves\n"
      "  tensorboard --logdir tensorboard\n"
      "\n"
      "A folder for each rank and node of a round: loss, learning rate, accuracy, speed and the "
      "parts\nof a step over the steps; utilization, memory, power and temperature over the "
      "seconds of the\nround (docs/reports.md).");
  tensorboard->callback(
      [arguments, &action] { action = [arguments] { return export_tensorboard(*arguments); }; });
}

}  // namespace assay::app
