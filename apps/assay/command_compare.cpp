#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "compare/render.h"
#include "core/error.h"
#include "judge/judge.h"
#include "outcome.h"
#include "store/run_dir.h"
#include "terminal.h"

namespace assay::app {

namespace {

struct CompareArguments {
  std::string base;
  std::vector<std::string> candidates;
  std::vector<std::string> more_base;
  std::vector<std::string> bounds;
  std::string format = "text";
  double tolerance_percent = 2;
  bool all_metrics = false;
  bool invalid_too = false;
};

std::vector<judge::RunResult> judge_runs(const std::vector<std::string>& paths) {
  std::vector<judge::RunResult> out;
  for (const std::string& path : paths) {
    const store::RunDir run = store::RunDir::open(path);
    if (store::RunLock::held(run.path()))
      throw Error(ErrorKind::usage, "the run is going on", path, "compare it when it has ended");
    out.push_back(judge::judge_run(run));
  }
  return out;
}

int run_compare(const CompareArguments& arguments) {
  std::vector<compare::Bound> bounds;
  for (const std::string& text : arguments.bounds) bounds.push_back(compare::parse_bound(text));
  compare::Options options;
  options.tolerance = arguments.tolerance_percent / 100;
  options.all_metrics = arguments.all_metrics;
  for (const compare::Bound& bound : bounds) options.metrics.push_back(bound.metric);
  options.invalid_too = arguments.invalid_too;
  std::vector<std::string> base{arguments.base};
  base.insert(base.end(), arguments.more_base.begin(), arguments.more_base.end());
  const compare::Comparison comparison =
      compare::compare_runs(judge_runs(base), judge_runs(arguments.candidates), options);
  if (arguments.format == "json")
    say(dump_pretty(compare::to_json(comparison)));
  else if (arguments.format == "markdown")
    say(compare::render_markdown(comparison));
  else
    say(compare::render_text(comparison, console_style("")));
  const std::vector<std::string> over = compare::exceeded(comparison, bounds);
  if (over.empty()) return 0;
  for (const std::string& line : over) std::cerr << "assay: " << line << "\n";
  return kExceededExit;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  const auto arguments = std::make_shared<CompareArguments>();
  CLI::App* command = app.add_subcommand(
      "compare", "Say what became faster or slower, and whether that is certain");
  command->add_option("base", arguments->base, "Folder of the run to compare with")
      ->required()
      ->type_name("BASE");
  command->add_option("new", arguments->candidates, "Folders of runs whose rounds count together")
      ->required()
      ->expected(1, 1000)
      ->type_name("NEW");
  command->add_option("--also-base", arguments->more_base, "Another run of the base's side")
      ->type_name("RUN");
  command
      ->add_option("--tolerance", arguments->tolerance_percent,
                   "Changes within so many percent are the SAME")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str()
      ->type_name("PERCENT");
  command
      ->add_option("--fail-on", arguments->bounds,
                   "End with 7 when a metric got worse by more than this, and that is certain")
      ->type_name("'METRIC: PERCENT %'");
  command->add_option("--format", arguments->format, "Of the output")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->capture_default_str();
  command->add_flag("--all", arguments->all_metrics, "All metrics, not only the headlines");
  command->add_flag("--invalid-too", arguments->invalid_too,
                    "Also what is not VALID; it is marked");
  command->footer(
      "Examples:\n"
      "  assay compare results/run20260101T120000Z-1a2b results/latest\n"
      "  assay compare before after1 after2 --also-base before2 --all\n"
      "  assay compare before after --fail-on 'throughput: 2 %'    # exit code 7 in CI\n"
      "  assay compare before after --format markdown > comment.md\n"
      "\n"
      "Everything is computed again from the runs' evidence. Five rounds on each side are a good "
      "number;\nwhat is unsure says how many would decide it.");
  command->callback(
      [arguments, &action] { action = [arguments] { return run_compare(*arguments); }; });
}

}  // namespace assay::app
