#include <memory>
#include <string>

#include "commands.h"
#include "outcome.h"
#include "store/run_dir.h"

namespace assay::app {

void add_report(CLI::App& app, Action& action) {
  const auto run = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "report", "Compute metrics, verdicts and every report again from a run's evidence");
  command->add_option("run", *run, "Folder of a run")->required()->type_name("RUN");
  command->footer(
      "Examples:\n"
      "  assay report results/latest\n"
      "\n"
      "The same evidence gives the same result.json, byte for byte. The exit code is that of the "
      "run.");
  command->callback(
      [run, &action] { action = [run] { return conclude(store::RunDir::open(*run)); }; });
}

}  // namespace assay::app
