#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "commands/base/commands.h"
#include "commands/base/known_commands.h"
#include "commands/base/output_file.h"
#include "commands/base/percent.h"
#include "commands/base/terminal.h"
#include "compare/make_baseline.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "core/units.h"
#include "judge/judge.h"
#include "page/table.h"
#include "store/run_dir.h"

namespace assay::commands {

namespace {

struct BaselineArguments {
  std::vector<std::string> runs;
  std::string out;
  std::string description;
  double tolerance_percent = 2;
  std::vector<std::string> metrics;
  bool judged_only = false;
  bool invalid_too = false;
  bool replace = false;
};

std::vector<judge::RunResult> judge_all(const std::vector<std::string>& paths) {
  std::vector<judge::RunResult> out;
  for (const std::string& path : paths) {
    const store::RunDir run = store::RunDir::open(path);
    if (store::RunLock::held(run.path()))
      throw Error(ErrorKind::usage, "the run is going on", path,
                  "make a baseline of it when it has ended");
    if (paths.size() > 1) tell_error(fmt::format("assay: judging {}\n", path));
    out.push_back(judge::judge_run(run));
  }
  return out;
}

page::Table judged_metrics(const compare::Baseline& baseline) {
  page::Table table;
  table.columns = {{"CASE"}, {"METRIC"}, {"MEDIAN"}, {"LOW"}, {"HIGH"}, {"ROUNDS"}, {"HARDWARE"}};
  for (const baseline::CaseEntry& entry : baseline.entries)
    for (const baseline::Metric& metric : entry.metrics)
      if (metric.judged)
        table.rows.push_back(
            {{printable(entry.name), metric.name + ", " + metric.unit, format_number(metric.median),
              format_number(metric.low), format_number(metric.high), std::to_string(entry.rounds),
              entry.hardware}});
  return table;
}

int run_baseline(const BaselineArguments& given) {
  const bool to_stdout = given.out.empty() || given.out == "-";
  if (!to_stdout && !given.replace && std::filesystem::exists(given.out))
    throw Error(ErrorKind::usage, "it exists already", given.out,
                "'--replace' writes over it; its old content is then gone");
  compare::BaselineOptions options;
  options.tolerance = given.tolerance_percent / 100;
  options.metrics = given.metrics;
  options.judged_only = given.judged_only;
  options.invalid_too = given.invalid_too;
  compare::BaselineMaking made = compare::make_baseline(judge_all(given.runs), options);
  made.baseline.description = given.description;
  const std::string text = baseline::to_yaml(made.baseline);
  for (const std::string& note : made.notes) tell_error(fmt::format("assay: note: {}\n", note));
  if (to_stdout) {
    say(text);
    return 0;
  }
  write_output_file(given.out, text);
  for (const std::string& line : page::text_lines(judged_metrics(made.baseline))) say(line + "\n");
  tell(fmt::format("{} in {}; a suite uses it with 'baseline: {}'\n",
                   counted(made.baseline.entries.size(), "entry", "entries"), given.out,
                   std::filesystem::path(given.out).filename().string()));
  return 0;
}

}  // namespace

void add_baseline(CLI::App& app, Action& action) {
  const auto given = std::make_shared<BaselineArguments>();
  CLI::App* command = add_known(app, "baseline");
  command->add_option("run", given->runs, "Folders of runs, of one machine or several")
      ->required()
      ->expected(1, 10000)
      ->type_name("RUN");
  command->add_option("-o,--out", given->out, "The file to write; without it, standard output")
      ->type_name("FILE");
  command
      ->add_option("--tolerance", given->tolerance_percent,
                   "No range is narrower than this to both sides of its median")
      ->check(percent())
      ->capture_default_str()
      ->type_name("PERCENT");
  command->add_option("--metric", given->metrics, "Judge this metric too, besides every headline")
      ->type_name("METRIC");
  command->add_option("--description", given->description, "For people")->type_name("TEXT");
  command->add_flag("--judged-only", given->judged_only,
                    "Leave out the metrics that are for comparisons alone");
  command->add_flag("--invalid-too", given->invalid_too, "Also runs that are not VALID");
  command->add_flag("--replace", given->replace, "Write over a file that exists");
  command->footer(
      "Examples:\n"
      "  assay baseline results/run1 results/run2 results/run3 -o baseline.yaml\n"
      "  assay baseline results/latest --metric energy_per_sample_j --tolerance 5 -o "
      "baseline.yaml\n"
      "\n"
      "A suite with 'baseline: baseline.yaml' says when a case falls below; 'assay compare "
      "baseline.yaml RUN' compares with it.\nA range is where 99 % of further rounds are expected "
      "(docs/baselines.md): five rounds or more make it narrow.");
  command->callback([given, &action] { action = [given] { return run_baseline(*given); }; });
}

}  // namespace assay::commands
