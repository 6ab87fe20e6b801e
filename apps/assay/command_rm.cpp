#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "history/remove_runs.h"
#include "history_folder.h"
#include "run_selection.h"
#include "terminal.h"

namespace assay::app {

namespace {

struct RemoveArguments {
  RunSelection selection;
  bool yes = false;
};

int remove_selected(const RemoveArguments& arguments) {
  const std::vector<std::filesystem::path> runs = selected_runs(arguments.selection);
  history::finish_removals(arguments.selection.results);
  if (runs.empty()) {
    say("No run may go.\n");
    return 0;
  }
  std::uint64_t bytes = 0;
  for (const std::filesystem::path& run : runs) {
    const std::uint64_t one = history::disk_use(run);
    bytes += one;
    say(fmt::format("{}  {}\n", printable(run.string()), format_bytes(static_cast<double>(one))));
  }
  const std::string what =
      fmt::format("{}, {}", counted(runs.size(), "run"), format_bytes(static_cast<double>(bytes)));
  if (!agreed("Remove " + what, arguments.yes, arguments.selection)) {
    say("Nothing was removed.\n");
    return 0;
  }
  int failed = 0;
  for (const std::filesystem::path& run : runs) {
    try {
      history::remove_run(run);
    } catch (const Error& error) {
      fmt::print(stderr, "assay: error: {}\n", error.what());
      failed = exit_code(error.kind());
    }
  }
  if (failed == 0) say("Removed " + what + ".\n");
  return failed;
}

}  // namespace

void add_rm(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<RemoveArguments>();
  CLI::App* command = app.add_subcommand("rm", "Remove runs, by name or by age");
  add_selection(*command, arguments->selection);
  command->add_flag("--yes", arguments->yes, "Do not ask");
  command->footer(
      "Examples:\n"
      "  assay rm run20261115T101500Z-3f2a\n"
      "  assay rm --older-than 90d --keep-tagged           # says what would go, and asks\n"
      "  assay rm --keep-last 50 --keep-tag accepted --yes\n"
      "\n"
      "A run that goes on is never removed, nor what is not a run; links are not followed.");
  command->callback(
      [arguments, &action] { action = [arguments] { return remove_selected(*arguments); }; });
}

}  // namespace assay::app
