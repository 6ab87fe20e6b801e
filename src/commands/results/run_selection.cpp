#include "commands/results/run_selection.h"

#include <cstdio>
#include <iostream>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/speak.h"
#include "commands/base/terminal.h"
#include "core/error.h"
#include "core/text.h"
#include "core/time.h"
#include "core/units.h"
#include "history/remove_runs.h"
#include "history/retention.h"
#include "lang/language.h"

namespace assay::commands {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kDay_ms = 86'400'000;

history::Retention retention_of(const RunSelection& selection) {
  history::Retention retention{.chosen = selection.choice.given(),
                               .keep_last = selection.keep_last,
                               .keep_tagged = selection.keep_tagged,
                               .keep_tags = selection.keep_tags};
  const std::int64_t now_ms = wall_now_ns() / 1'000'000;
  if (!selection.older_than.empty())
    retention.older_than_ms = history::parse_when(selection.older_than, "--older-than", now_ms);
  if (selection.keep_days) retention.older_than_ms = now_ms - *selection.keep_days * kDay_ms;
  return retention;
}

std::vector<fs::path> chosen_by_rule(const RunSelection& selection, bool archived) {
  const std::string& results = selection.choice.runs.results;
  const history::Retention retention = retention_of(selection);
  history::RunFilter filter = filter_of(selection.choice);
  if (!archived) filter.archived = false;
  std::vector<std::string> remarks;
  const std::vector<history::FoundRun> runs =
      history::ask_index(results, index_options(), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::find_runs(index, filter);
      });
  std::vector<fs::path> out;
  for (const history::FoundRun& run : history::runs_to_remove(runs, retention)) {
    const fs::path folder = fs::path(results) / run.folder;
    try {
      history::check_removable(folder);
      out.push_back(folder);
    } catch (const Error& error) {
      // In progress again, or without a plan: this one stays, the others need not.
      remarks.push_back(std::string("stays: ") + error.what());
    }
  }
  say_remarks(remarks);
  return out;
}

}  // namespace

void add_selection(CLI::App& command, RunSelection& selection) {
  command.add_option("runs", selection.names, "Folders of runs, or their names")
      ->type_name("RUN...");
  CLI::Option* older =
      command
          .add_option("--older-than", selection.older_than,
                      "Without RUN: those that began before: 90d ago, or a day (2026-11-15)")
          ->type_name("WHEN");
  command
      .add_option("--keep-days", selection.keep_days,
                  "Without RUN: those that began more than so many days ago")
      ->excludes(older)
      ->type_name("N");
  command
      .add_option("--keep-last", selection.keep_last,
                  "Without RUN: all but the newest so many (and those that other options keep)")
      ->check(CLI::Range(0, 1'000'000'000))
      ->type_name("N");
  command.add_flag("--keep-tagged", selection.keep_tagged, "Keep runs that have a tag");
  command.add_option("--keep-tag", selection.keep_tags, "Keep runs that have this tag")
      ->type_name("TAG")
      ->allow_extra_args(false);
  add_find_choice(command, selection.choice);
  command.add_flag("--dry-run", selection.dry_run,
                   "Say what would go and how much that frees, and do nothing");
  command.add_flag("--yes", selection.yes, "Do not ask");
}

std::vector<SelectedRun> selected_runs(const RunSelection& selection, bool archived) {
  if (selection.names.empty() == !selection.by_rule())
    throw Error(
        ErrorKind::usage,
        selection.names.empty() ? "no run was chosen" : "runs were named and chosen by a rule", {},
        "name runs, or give --older-than, --keep-days, --keep-last or what 'assay find' takes");
  std::vector<fs::path> folders;
  if (selection.by_rule()) {
    folders = chosen_by_rule(selection, archived);
  } else {
    for (const std::string& name : selection.names) {
      folders.push_back(run_folder(name, selection.choice.runs.results));
      history::check_removable(folders.back());
    }
  }
  std::vector<SelectedRun> out;
  for (fs::path& folder : folders) {
    const std::uint64_t bytes = history::disk_use(folder);
    out.push_back({std::move(folder), bytes});
  }
  return out;
}

std::string runs_and_bytes(const std::vector<SelectedRun>& runs) {
  std::uint64_t bytes = 0;
  for (const SelectedRun& run : runs) bytes += run.bytes;
  return fmt::format("{}, {}", counted(runs.size(), "run"),
                     format_bytes(static_cast<double>(bytes)));
}

bool agreed(const std::string& verb, const std::vector<SelectedRun>& runs,
            const RunSelection& selection) {
  for (const SelectedRun& run : runs)
    tell(fmt::format("{}  {}\n", lang::name(printable(run.folder.string())),
                     format_bytes(static_cast<double>(run.bytes))));
  const std::string question = verb + " " + runs_and_bytes(runs);
  if (selection.dry_run) {
    tell("Would: " + question + ".\n");
    return false;
  }
  if (selection.yes) return true;
  if (::isatty(STDIN_FILENO) == 0) {
    if (selection.by_rule()) return false;
    throw Error(ErrorKind::usage, "the question cannot be asked here", {}, "give --yes");
  }
  tell(question + "? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  return to_lower(trim(answer)) == "y" || to_lower(trim(answer)) == "yes";
}

int for_each_run(const std::vector<SelectedRun>& runs,
                 const std::function<void(const fs::path& folder)>& action) {
  int failed = 0;
  for (const SelectedRun& run : runs) {
    try {
      action(run.folder);
    } catch (const Error& error) {
      tell_error("assay: error: " + error_text(error) + "\n");
      failed = exit_code(error.kind());
    }
  }
  return failed;
}

}  // namespace assay::commands
