#include <memory>
#include <string>
#include <vector>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/results/run_selection.h"
#include "core/text.h"
#include "history/remove_runs.h"
#include "store/archived_run.h"

namespace assay::commands {

namespace {

struct RemoveArguments {
  RunSelection selection;
  bool archived = false;
};

// A packed file stored elsewhere does not belong to the run's folder, and stays.
void remove_one(const std::filesystem::path& folder) {
  std::filesystem::path pack;
  if (store::is_archived(folder)) pack = store::read_archived(folder).pack;
  history::remove_run(folder);
  if (std::error_code ec; !pack.empty() && std::filesystem::exists(pack, ec))
    tell("Its packed file stays: " + printable(pack.string()) + "\n");
}

int remove_selected(const RemoveArguments& arguments) {
  const RunSelection& selection = arguments.selection;
  const std::vector<SelectedRun> runs = selected_runs(selection, arguments.archived);
  if (!selection.dry_run) history::finish_removals(selection.choice.runs.results);
  if (runs.empty()) {
    tell("No run may go.\n");
    return 0;
  }
  if (!agreed("Remove", runs, selection)) {
    tell("Nothing was removed.\n");
    return 0;
  }
  const int failed = for_each_run(runs, remove_one);
  if (failed == 0) tell("Removed " + runs_and_bytes(runs) + ".\n");
  return failed;
}

}  // namespace

void add_rm(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<RemoveArguments>();
  CLI::App* command = add_known(app, "rm");
  add_selection(*command, arguments->selection);
  command->add_flag("--archived", arguments->archived,
                    "Without RUN: archived runs, too, with the packed files in their folders");
  command->footer(
      "Examples:\n"
      "  assay rm run20261115T101500Z-3f2a\n"
      "  assay rm --older-than 90d --keep-tagged           # says what would go, and asks\n"
      "  assay rm --keep-last 50 --keep-tag accepted --yes\n"
      "  assay rm --verdict INVALID --keep-days 7 --dry-run\n"
      "\n"
      "A run that goes on is never removed, nor what is not a run; links are not followed.\n"
      "'assay archive' packs runs instead of removing them.");
  command->callback(
      [arguments, &action] { action = [arguments] { return remove_selected(*arguments); }; });
}

}  // namespace assay::commands
