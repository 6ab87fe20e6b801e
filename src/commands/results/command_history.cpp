#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/outcome.h"
#include "commands/base/output_file.h"
#include "commands/base/percent.h"
#include "commands/base/terminal.h"
#include "commands/results/history_folder.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/units.h"
#include "history/history_page.h"
#include "history/history_text.h"
#include "history/remove_runs.h"
#include "lang/language.h"
#include "page/bilingual.h"
#include "page/table.h"

namespace assay::commands {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileWidth = 200;  ///< for a table written to a file or a pipe

struct HistoryArguments {
  RunChoice choice;
  std::vector<std::string> metrics;
  std::string format = "table";
  std::string output;
  double least_percent = 1;
  double fail_percent = -1;
  bool invalid_too = false;
  bool rebuild = false;
  bool disk = false;
};

void write_out(const std::string& text, const std::string& output) {
  if (output.empty()) return say(text);
  write_output_file(output, text);
  say(output + "\n");
}

// The path from the page to the folder of results; nothing for a page written to a pipe.
std::optional<std::string> links_from(const std::string& output, const std::string& results) {
  if (output.empty()) return std::nullopt;
  std::error_code ec;
  const fs::path page = fs::weakly_canonical(fs::absolute(output).parent_path(), ec);
  const std::string way = fs::weakly_canonical(results, ec).lexically_relative(page).string();
  if (way.empty()) return std::nullopt;
  return way == "." ? std::string() : way + "/";
}

int show_disk(const HistoryArguments& arguments) {
  std::vector<std::string> remarks;
  const std::vector<history::FoundRun> runs = history::ask_index(
      arguments.choice.results, index_options(arguments.rebuild), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::find_runs(index, filter_of(arguments.choice));
      });
  std::vector<std::uint64_t> bytes(runs.size());
  run_parallel(runs.size(), 0, {}, [&](std::size_t i, const std::stop_token&) {
    bytes[i] = history::disk_use(fs::path(arguments.choice.results) / runs[i].folder);
  });
  std::uint64_t all = 0;
  for (const std::uint64_t one : bytes) all += one;
  if (arguments.format == "json") {
    Json json = history::runs_to_json(runs);
    for (std::size_t i = 0; i < runs.size(); ++i) json["runs"][i]["disk_bytes"] = bytes[i];
    json["disk_bytes"] = all;
    write_out(dump_pretty(json), arguments.output);
  } else {
    page::Table table{{{.title = "RUN"},
                       {.title = "STARTED"},
                       {.title = "DISK", .align = page::Align::right},
                       {.title = "TAGS"}}};
    for (std::size_t i = 0; i < runs.size(); ++i)
      table.rows.push_back(
          {{runs[i].folder, history::show_time(runs[i].started_ms),
            format_bytes(static_cast<double>(bytes[i])), join(runs[i].tags, " ")}});
    std::string text = join(page::text_lines(table), "\n") + "\n";
    write_out(text + fmt::format("{}, {}\n", counted(runs.size(), "run"),
                                 format_bytes(static_cast<double>(all))),
              arguments.output);
  }
  say_remarks(remarks);
  return 0;
}

int show_history(const HistoryArguments& arguments) {
  if (arguments.disk) return show_disk(arguments);
  history::TrendOptions options;
  options.runs = filter_of(arguments.choice);
  options.metrics = arguments.metrics;
  options.invalid_too = arguments.invalid_too;
  options.changes.least_change = arguments.least_percent / 100;
  std::vector<std::string> remarks;
  const history::History found = history::ask_index(
      arguments.choice.results, index_options(arguments.rebuild), [&](history::RunIndex& index) {
        remarks = index.messages();
        return history::read_history(index, options);
      });
  for (std::string& remark : history::remarks_about(found.runs))
    remarks.push_back(std::move(remark));
  if (arguments.format == "json")
    write_out(dump_pretty(history::history_to_json(found)), arguments.output);
  else if (arguments.format == "csv")
    write_out(history::history_to_csv(found), arguments.output);
  else if (arguments.format == "html")
    write_out(page::bilingual(history::render_history_page(
                  found, links_from(arguments.output, arguments.choice.results), remarks)),
              arguments.output);
  else if (arguments.output.empty() && terminal().interactive)
    tell(history::render_history(found, console_style("")));
  else
    write_out(lang::tr_lines(history::render_history(found, {.width = kFileWidth})),
              arguments.output);
  say_remarks(remarks);
  if (arguments.fail_percent < 0) return 0;
  if (found.trends.empty()) {
    say_remarks({"no case has a result: nothing shows that none got worse"});
    return kExceededExit;
  }
  const std::vector<std::string> worse = history::worse_now(found, arguments.fail_percent / 100);
  say_remarks(worse);
  return worse.empty() ? 0 : kExceededExit;
}

}  // namespace

void add_history(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<HistoryArguments>();
  CLI::App* command = add_known(app, "history");
  add_run_choice(*command, arguments->choice);
  command->add_option("--metric", arguments->metrics, "This metric instead of each case's headline")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command->add_option("--format", arguments->format, "Of the output")
      ->check(CLI::IsMember({"table", "json", "csv", "html"}))
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "Write it to this file")->type_name("FILE");
  command
      ->add_option("--min-change", arguments->least_percent,
                   "Mark no changes that are smaller, in percent")
      ->check(percent())
      ->capture_default_str()
      ->type_name("PERCENT");
  command
      ->add_option("--fail-on", arguments->fail_percent,
                   "End with 7 when a case's last change made it worse by more than this")
      ->check(percent())
      ->type_name("PERCENT");
  command->add_flag("--invalid-too", arguments->invalid_too, "Also cases that are not VALID");
  command->add_flag("--disk", arguments->disk, "Show what the runs take on the disk instead");
  command->add_flag("--rebuild", arguments->rebuild, "Read all runs again");
  command->footer(
      "Examples:\n"
      "  assay history\n"
      "  assay history --case resnet50 --metric energy_per_sample_j --since 90d\n"
      "  assay history --format html -o results/history.html\n"
      "  assay history --fail-on 2       # exit code 7 in CI\n"
      "  assay history --disk\n"
      "\n"
      "The index is a file in the folder of results and is rebuilt when it is missing.");
  command->callback(
      [arguments, &action] { action = [arguments] { return show_history(*arguments); }; });
}

}  // namespace assay::commands
