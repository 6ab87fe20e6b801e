#include "commands/runs/planning.h"

#include <cstdio>

#include <fmt/format.h>

#include "catalog/catalog.h"
#include "commands/base/extras.h"
#include "commands/base/paths.h"
#include "commands/base/terminal.h"
#include "commands/suites/find_devices.h"
#include "core/host.h"
#include "core/text.h"
#include "launch/agents/ssh/ssh_names.h"
#include "plan/launcher_options.h"
#include "plan/make_plan.h"

namespace assay::commands {

namespace {

void note_on_stderr(const std::string& line) {
  tell_error(printable(line) + "\n");
}

// Needs no libtorch: the default suite where training cannot run.
constexpr const char* kWithoutTraining = "micro";

// The suite for a command that names none. Reuses devices that were already found.
std::string choose(const catalog::Catalog& catalog, plan::PlanOptions& options) {
  plan::SuiteChoice choice = plan::choose_suite(search_devices(catalog, "", true));
  if (!choice.devices) {
    if (const std::string why = why_no_training(); !why.empty()) {
      choice.lines.push_back(
          fmt::format("suite {} instead, without training: {}", kWithoutTraining, why));
      choice.suite = kWithoutTraining;
    }
  }
  for (const std::string& line : choice.lines) note_on_stderr(line);
  if (choice.devices)
    options.find_devices = [&catalog, devices = *choice.devices](const std::string& vendor,
                                                                 bool built_in) {
      return vendor.empty() || vendor == devices.vendor ? devices
                                                        : find_devices(catalog, vendor, built_in);
    };
  return choice.suite;
}

}  // namespace

void need_backend(const plan::Plan& plan) {
  if (!plan.cluster.traits.starts_agents)
    (void)extras_for("the launcher '" + plan::launcher_name(plan.cluster.options) + "'");
}

plan::Plan make_plan(const PlanRequest& request) {
  const catalog::Catalog catalog = catalog::load_catalog(catalog::find_conf_dirs());
  plan::PlanOptions options;
  options.overrides = request.set;
  options.only = request.only;
  if (request.repeat > 0) options.repeat = request.repeat;
  options.challenge = request.challenge;
  options.bindir = program_folder();
  options.run_id = new_run_id();
  options.find_devices = [&catalog](const std::string& vendor, bool built_in) {
    return find_devices(catalog, vendor, built_in);
  };
  const std::string suite = request.suite.empty() ? choose(catalog, options) : request.suite;
  plan::Plan plan =
      plan::make_plan(plan::load_suite(find_suite(suite, catalog.conf_dirs)), catalog, options);
  need_backend(plan);
  launch::resolve_ssh_names(plan.cluster);
  for (const plan::LeftOut& left : plan.left_out)
    note_on_stderr("left out: " + left.name + ": " + left.reason);
  std::fflush(stderr);
  return plan;
}

}  // namespace assay::commands
