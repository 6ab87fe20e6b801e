#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/byte_progress.h"
#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/results/run_selection.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"
#include "history/archive_runs.h"
#include "history/remove_runs.h"
#include "history/run_index.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kArchiveSilence_ns = 1'000'000'000;

struct ArchiveArguments {
  RunSelection selection;
  std::string to;
  bool restore = false;
};

std::string size_of(std::uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

void archive_one(const fs::path& run, const std::string& to) {
  ByteProgress progress("Packed", kArchiveSilence_ns);
  const std::uint64_t before = history::disk_use(run);
  const store::ArchivedRun archived = history::archive_run(
      run, to, {0, [&](std::uint64_t done, std::uint64_t of) { progress.show(done, of); }});
  history::index_run(run, false);
  tell(fmt::format("{}: {}, {} packed into {} ({}); its folder takes {} instead of {}\n",
                   printable(archived.run_id), counted(archived.files, "file"),
                   size_of(archived.bytes), printable(archived.pack.string()),
                   size_of(archived.pack_bytes), size_of(history::disk_use(run)), size_of(before)));
}

void restore_one(const fs::path& run) {
  history::restore_run(run);
  history::index_run(run, false);
  tell("Restored: " + printable(run.string()) + "\n");
}

int restore_named(const RunSelection& selection) {
  if (selection.by_rule() || selection.names.empty())
    throw Error(ErrorKind::usage, "no run was named", {},
                "name archived runs ('assay find --archived' lists them)");
  std::vector<SelectedRun> runs;
  for (const std::string& name : selection.names)
    runs.push_back({run_folder(name, selection.choice.runs.results), 0});
  return for_each_run(runs, restore_one);
}

int archive_selected(const ArchiveArguments& arguments) {
  const RunSelection& selection = arguments.selection;
  if (!selection.dry_run) history::finish_removals(selection.choice.runs.results);
  if (arguments.restore) return restore_named(selection);
  const std::vector<SelectedRun> runs = selected_runs(selection, false);
  if (runs.empty()) {
    tell("No run is to be archived.\n");
    return 0;
  }
  if (!agreed("Pack and remove the files of", runs, selection)) {
    tell("Nothing was archived.\n");
    return 0;
  }
  return for_each_run(runs, [&](const fs::path& run) { archive_one(run, arguments.to); });
}

}  // namespace

void add_archive(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<ArchiveArguments>();
  CLI::App* command = add_known(app, "archive");
  add_selection(*command, arguments->selection);
  CLI::Option* to = command
                        ->add_option("--to", arguments->to,
                                     "Folder for the packed runs; else each stays in its run's")
                        ->type_name("DIR");
  command->add_flag("--restore", arguments->restore, "Unpack archived runs in their places again")
      ->excludes(to);
  command->footer(
      "Examples:\n"
      "  assay archive --keep-days 90 --keep-tagged --dry-run    # what would go, and how much\n"
      "  assay archive --older-than 90d --to /mnt/archive --yes\n"
      "  assay archive --verdict INVALID --case resnet50\n"
      "  assay archive --restore run20261115T101500Z-3f2a\n"
      "\n"
      "A packed file is read back before a run's files go; whatever ends it, the run is there as "
      "it "
      "was,\nor archived. 'assay compare' reads archived runs as they are.");
  command->callback(
      [arguments, &action] { action = [arguments] { return archive_selected(*arguments); }; });
}

}  // namespace assay::commands
