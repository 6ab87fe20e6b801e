#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "commands/base/commands.h"
#include "commands/base/terminal.h"
#include "commands/runs/planning.h"
#include "core/error.h"
#include "core/host.h"
#include "core/text.h"
#include "lang/language.h"
#include "launch/agents/preflight.h"
#include "launch/agents/preflight_text.h"
#include "launch/backends/make_backend.h"
#include "page/text_width.h"

namespace assay::commands {

namespace {

struct CheckOptions {
  PlanRequest plan;
  std::string out = "results";
  std::string format = "text";
};

/// Shows on stderr what takes time: redrawn on a terminal, otherwise a line per change.
class Waiting {
 public:
  ~Waiting() {
    if (drawn_) fmt::print(stderr, "\r\x1b[K");
  }
  void show(const std::string& stage) {
    if (interactive_)
      fmt::print(stderr, "\r\x1b[K{}",
                 page::cut_to(lang::tr(printable(stage)), terminal().width - 1));
    else if (stage != shown_)
      tell_error(printable(stage) + "\n");
    drawn_ = interactive_;
    shown_ = stage;
    std::fflush(stderr);
  }

 private:
  const bool interactive_ = ::isatty(STDERR_FILENO) == 1;
  bool drawn_ = false;
  std::string shown_;
};

int say_service(const plan::Plan& plan, const Json& found, const CheckOptions& options) {
  if (options.format == "json") {
    fmt::print("{}", dump_pretty({{"suite", plan.suite}, {"service", found}}));
    return 0;
  }
  tell(fmt::format("{}  suite {}: {}, ready to run\n\n",
                   launch::level_text(probe::Level::pass, terminal().color),
                   lang::name(plan.suite_file), counted(plan.cases.size(), "case")));
  for (const auto& item : found.items())
    fmt::print("  {:<10}  {}\n", item.key(),
               printable(item.value().is_string() ? item.value().get<std::string>()
                                                  : item.value().dump()));
  return 0;
}

int check(const CheckOptions& options) {
  const plan::Plan plan = make_plan(options.plan);
  if (!plan.cluster.traits.starts_agents) {
    std::optional<Json> found;
    {
      Waiting waiting;
      found = launch::check_jobs_of(plan, [&](const std::string& stage) { waiting.show(stage); });
    }
    return say_service(plan, found.value_or(Json::object()), options);
  }
  const auto launcher = launch::make_launcher(plan.cluster, program_folder());
  std::vector<launch::NodeChecks> nodes;
  {
    Waiting waiting;
    nodes = launch::preflight(plan, *launcher,
                              {std::filesystem::absolute(options.out),
                               [&](const std::string& stage) { waiting.show(stage); }});
  }
  if (options.format == "json") {
    fmt::print("{}", dump_pretty({{"suite", plan.suite}, {"nodes", launch::to_json(nodes)}}));
  } else {
    const Terminal screen = terminal();
    tell(fmt::format("{}  suite {}: {}, ready to run\n\n{}",
                     launch::level_text(probe::Level::pass, screen.color),
                     lang::name(plan.suite_file), counted(plan.cases.size(), "case"),
                     launch::render_checks(nodes, {screen.color, screen.width})));
  }
  const bool fit = std::ranges::all_of(nodes, [](const launch::NodeChecks& node) {
    return probe::worst(node.checks) != probe::Level::fail;
  });
  return fit ? 0 : exit_code(ErrorKind::environment);
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Check a suite, and whether the machines are fit to measure on");
  command
      ->add_option("suite", options->plan.suite,
                   "Suite file, or the name of one in conf/suites (default: by this "
                   "machine: gpu-quick, or quick for the CPU)")
      ->type_name("SUITE");
  command->add_option("--set", options->plan.set, "Override a setting, key=value")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "Folder for the runs, whose disk is checked")
      ->type_name("DIR");
  command->add_option("--format", options->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command->footer(
      "Examples:\n"
      "  assay check\n"
      "  assay check suite.yaml --format json\n"
      "  assay check cloud.yaml         asks the cloud for bucket, engine and flavor\n"
      "\n"
      "Exit code 3 when something FAILs; a WARN does not change it.");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace assay::commands
