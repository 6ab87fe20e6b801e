#include "run_selection.h"

#include <iostream>

#include <unistd.h>

#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "history/remove_runs.h"
#include "history/retention.h"
#include "history_folder.h"
#include "terminal.h"

namespace assay::app {

namespace fs = std::filesystem;

void add_selection(CLI::App& command, RunSelection& selection) {
  command.add_option("runs", selection.runs, "Folders of runs, or their names")
      ->type_name("RUN...");
  add_results_option(command, selection.results);
  command
      .add_option("--older-than", selection.older_than,
                  "Without RUN: those that began before: 90d ago, or a day (2026-11-15)")
      ->type_name("WHEN");
  command
      .add_option("--keep-last", selection.keep_last,
                  "Without RUN: all but the newest so many (and those that other options keep)")
      ->type_name("N");
  command.add_flag("--keep-tagged", selection.keep_tagged, "Keep runs that have a tag");
  command.add_option("--keep-tag", selection.keep_tags, "Keep runs that have this tag")
      ->type_name("TAG")
      ->allow_extra_args(false);
}

std::vector<fs::path> selected_runs(const RunSelection& selection) {
  if (selection.runs.empty() == !selection.by_rule())
    throw Error(
        ErrorKind::usage,
        selection.runs.empty() ? "no run was chosen" : "runs were named and chosen by a rule", {},
        "name runs, or give --older-than or --keep-last");
  std::vector<fs::path> out;
  if (!selection.by_rule()) {
    for (const std::string& name : selection.runs) {
      out.push_back(run_folder(name, selection.results));
      history::check_removable(out.back());
    }
    return out;
  }
  history::Retention retention{.keep_last = selection.keep_last,
                               .keep_tagged = selection.keep_tagged,
                               .keep_tags = selection.keep_tags};
  if (!selection.older_than.empty())
    retention.older_than_ms =
        history::parse_when(selection.older_than, "--older-than", wall_now_ns() / 1'000'000);
  std::vector<std::string> remarks;
  const std::vector<history::FoundRun> runs =
      history::ask_index(selection.results, index_options(), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::find_runs(index, {});
      });
  for (const history::FoundRun& run : history::runs_to_remove(runs, retention)) {
    const fs::path folder = fs::path(selection.results) / run.folder;
    try {
      history::check_removable(folder);
      out.push_back(folder);
    } catch (const Error& error) {
      // Going on again, or without a plan: it stays, and the others need not.
      remarks.push_back(std::string("stays: ") + error.what());
    }
  }
  say_remarks(remarks);
  return out;
}

bool agreed(const std::string& question, bool yes, const RunSelection& selection) {
  if (yes) return true;
  if (::isatty(STDIN_FILENO) == 0) {
    if (selection.by_rule()) return false;
    throw Error(ErrorKind::usage, "nobody can be asked here", {}, "give --yes");
  }
  say(question + "? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return to_lower(trim(answer)) == "y" || to_lower(trim(answer)) == "yes";
}

}  // namespace assay::app
