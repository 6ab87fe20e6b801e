#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/terminal.h"
#include "commands/results/history_folder.h"
#include "core/text.h"
#include "history/history_text.h"

namespace assay::commands {

namespace {

struct FindArguments {
  FindChoice choice;
  std::string format = "table";
  bool archived = false;
};

// Mentions archived runs whose packed file is missing.
void say_missing(const std::vector<history::FoundRun>& runs, std::vector<std::string>& remarks) {
  for (const history::FoundRun& run : runs)
    if (std::error_code ec; !run.archived.empty() && !std::filesystem::exists(run.archived, ec))
      remarks.push_back("the packed file of " + run.folder + " is not there: " + run.archived);
}

int find_command(const FindArguments& arguments) {
  history::RunFilter filter = filter_of(arguments.choice);
  if (arguments.archived) filter.archived = true;
  const std::string& results = arguments.choice.runs.results;
  std::vector<std::string> remarks;
  const std::vector<history::FoundRun> runs =
      history::ask_index(results, index_options(), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::find_runs(index, filter);
      });
  if (arguments.format == "json") {
    say(dump_pretty(history::runs_to_json(runs)));
  } else if (arguments.format == "csv") {
    say(history::runs_to_csv(runs));
  } else if (arguments.format == "paths") {
    for (const history::FoundRun& run : runs)
      say((std::filesystem::path(results) / run.folder).string() + "\n");
  } else {
    say(history::render_runs(runs, console_style("")));
    tell(counted(runs.size(), "run") + "\n");
  }
  for (std::string& remark : history::remarks_about(runs)) remarks.push_back(std::move(remark));
  say_missing(runs, remarks);
  say_remarks(remarks);
  return 0;
}

}  // namespace

void add_find(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<FindArguments>();
  CLI::App* command = add_known(app, "find");
  add_find_choice(*command, arguments->choice);
  command->add_flag("--archived", arguments->archived, "Only archived runs");
  command->add_option("--format", arguments->format, "Of the output")
      ->check(CLI::IsMember({"table", "json", "csv", "paths"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n"
      "  assay find --since 30d --verdict INVALID\n"
      "  assay find --case resnet50 --where 'mfu >= 0.4' --tag accepted\n"
      "  assay compare $(assay find --tag before --format paths) results/latest");
  command->callback(
      [arguments, &action] { action = [arguments] { return find_command(*arguments); }; });
}

}  // namespace assay::commands
