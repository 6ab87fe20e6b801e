#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "commands.h"
#include "core/error.h"
#include "core/text.h"
#include "launch/preflight.h"
#include "paths.h"
#include "planning.h"
#include "terminal.h"

namespace assay::app {

namespace {

struct CheckOptions {
  PlanRequest plan;
  std::string out = "results";
  std::string format = "text";
};

std::string colored(probe::Level level, bool color) {
  std::string text(probe::to_string(level));
  if (!color) return text;
  const char* code = level == probe::Level::pass ? "32" : level == probe::Level::warn ? "33" : "31";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void print_text(const plan::Plan& plan, const std::vector<launch::NodeChecks>& nodes) {
  const bool color = terminal().color;
  fmt::print("{}  suite {}: {} case{}, ready to run\n", colored(probe::Level::pass, color),
             plan.suite_file, plan.cases.size(), plan.cases.size() == 1 ? "" : "s");
  std::size_t width = 0;
  for (const launch::NodeChecks& node : nodes)
    for (const probe::Check& check : node.checks) width = std::max(width, check.id.size());
  for (const launch::NodeChecks& node : nodes) {
    fmt::print("\n{}\n", node.host);
    for (const probe::Check& check : node.checks) {
      fmt::print("{}  {:<{}}  {}\n", colored(check.level, color), check.id, width,
                 printable(check.seen));
      if (check.level != probe::Level::pass && !check.advice.empty())
        fmt::print("      {:<{}}  → {}\n", "", width, printable(check.advice));
    }
  }
}

void print_json(const plan::Plan& plan, const std::vector<launch::NodeChecks>& nodes) {
  Json list = Json::array();
  for (const launch::NodeChecks& node : nodes) {
    Json checks = Json::array();
    for (const probe::Check& check : node.checks) checks.push_back(probe::to_json(check));
    list.push_back({{"node", node.node}, {"host", node.host}, {"checks", std::move(checks)}});
  }
  fmt::print("{}", dump_pretty({{"suite", plan.suite}, {"nodes", std::move(list)}}));
}

int check(const CheckOptions& options) {
  const plan::Plan plan = make_plan(options.plan);
  const auto launcher = launch::make_launcher(plan.cluster, bin_dir());
  const std::vector<launch::NodeChecks> nodes =
      launch::preflight(plan, *launcher, std::filesystem::absolute(options.out));
  if (options.format == "json")
    print_json(plan, nodes);
  else
    print_text(plan, nodes);
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
  command->add_option("suite", options->plan.suite,
                      "Suite file, or the name of one in conf/suites (default: quick)");
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
      "\n"
      "Exit code 3 when something FAILs; a WARN does not change it.");
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace assay::app
