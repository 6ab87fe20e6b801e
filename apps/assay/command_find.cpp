#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands.h"
#include "core/text.h"
#include "history/history_text.h"
#include "history_folder.h"
#include "terminal.h"

namespace assay::app {

namespace {

struct FindArguments {
  RunChoice choice;
  std::vector<std::string> verdicts;
  std::vector<std::string> tags;
  std::vector<std::string> conditions;
  std::string note;
  std::string format = "table";
};

int find_command(const FindArguments& arguments) {
  history::RunFilter filter = filter_of(arguments.choice);
  for (const std::string& verdict : arguments.verdicts)
    filter.verdicts.push_back(*parse_enum<judge::Validity>(verdict));
  filter.tags = arguments.tags;
  filter.note = arguments.note;
  for (const std::string& text : arguments.conditions)
    filter.conditions.push_back(history::parse_condition(text));
  std::vector<std::string> remarks;
  const std::vector<history::FoundRun> runs =
      history::ask_index(arguments.choice.results, index_options(), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::find_runs(index, filter);
      });
  if (arguments.format == "json") {
    say(dump_pretty(history::runs_to_json(runs)));
  } else if (arguments.format == "csv") {
    say(history::runs_to_csv(runs));
  } else if (arguments.format == "paths") {
    for (const history::FoundRun& run : runs)
      say((std::filesystem::path(arguments.choice.results) / run.folder).string() + "\n");
  } else {
    say(history::render_runs(runs, console_style("")));
    say(counted(runs.size(), "run") + "\n");
  }
  for (std::string& remark : history::remarks_about(runs)) remarks.push_back(std::move(remark));
  say_remarks(remarks);
  return 0;
}

}  // namespace

void add_find(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<FindArguments>();
  CLI::App* command =
      app.add_subcommand("find", "List runs by case, machine, verdict, tag or metric");
  add_run_choice(*command, arguments->choice);
  command->add_option("--verdict", arguments->verdicts, "Only runs with this verdict")
      ->check(CLI::IsMember(enum_texts<judge::Validity>(), CLI::ignore_case))
      ->allow_extra_args(false);
  command->add_option("--tag", arguments->tags, "Only runs with this tag")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command->add_option("--note", arguments->note, "Only runs with this in a note")
      ->type_name("TEXT");
  command
      ->add_option("--where", arguments->conditions,
                   "Only runs in which a case has such a metric: 'steady_throughput > 100'")
      ->type_name("CONDITION")
      ->allow_extra_args(false);
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

}  // namespace assay::app
