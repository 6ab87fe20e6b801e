#include "plan/make_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "core/version.h"
#include "plan/answering.h"
#include "plan/case_checks.h"
#include "plan/case_config.h"
#include "plan/case_key.h"
#include "plan/command.h"
#include "plan/config_use.h"
#include "plan/dependencies.h"
#include "plan/device_suite.h"
#include "plan/launchers/slurm_ranks.h"
#include "plan/origins.h"
#include "plan/overrides.h"
#include "plan/suite_baseline.h"
#include "plan/sweep.h"

namespace assay::plan {

using catalog::Catalog;
using catalog::Vendor;
using catalog::Workload;
using config::Entry;
using config::Node;

namespace {

const Workload* workload_of(const SuiteCase& wanted, const Catalog& catalog) {
  if (!wanted.command.empty()) return nullptr;
  const std::string name = wanted.automl ? kAutomlWorkload : wanted.model;
  const Workload* workload = catalog.find_workload(name);
  const std::vector<std::string> names = catalog.workload_names();
  if (name == kAutomlWorkload && !wanted.automl)
    wanted.node.fail("the case '" + wanted.name + "' has workers of an experiment, but no 'automl'",
                     "automl: {max_duration: 1h}");
  if (workload == nullptr)
    wanted.node.fail(
        "no workload '" + name + "'" + did_you_mean(name, names) + ", and the case has no command",
        "workloads: " + join(names, ", ") + "; or give the case a 'command'");
  const std::string family = framework_family(wanted.framework);
  const auto& frameworks = workload->frameworks;
  if (std::ranges::find(frameworks, family) == frameworks.end())
    wanted.node.fail("the workload '" + workload->name + "' has no framework '" + wanted.framework +
                         "'" + did_you_mean(family, frameworks),
                     "it has: " + join(frameworks, ", ") + "; or give the case a 'command'");
  return workload;
}

void add_env(const Node& layer, CasePlan& plan) {
  if (layer.is_null()) return;
  for (const Entry& entry : layer.entries()) plan.env[entry.key] = entry.value.text();
}

Limits resolve_limits(const catalog::LimitSettings& settings) {
  Limits limits;
  limits.time = settings.time.value_or(limits.time);
  limits.stall = settings.stall.value_or(limits.stall);
  limits.grace = settings.grace.value_or(limits.grace);
  limits.output_bytes = settings.output_bytes.value_or(limits.output_bytes);
  return limits;
}

LaunchMode launch_mode(const std::string& text) {
  if (text == "per-node") return LaunchMode::per_node;
  return text == "head" ? LaunchMode::head : LaunchMode::per_rank;
}

void resolve_peak(const SuiteCase& wanted, const Vendor& vendor, CasePlan& plan) {
  if (wanted.peak_flops) {
    plan.peak_flops = wanted.peak_flops;
    plan.peak_flops_origin = wanted.peak_flops_origin;
    return;
  }
  const catalog::Hardware* hardware = vendor.find_hardware(plan.hardware);
  // Matrix products call it the type of their entries, training calls it precision.
  const char* key = plan.config.contains("dtype") ? "dtype" : "precision";
  const Json& said = plan.config.contains(key) ? plan.config : plan.declared;
  const auto precision = said.find(key);
  if (hardware == nullptr || precision == said.end() || !precision->is_string()) return;
  const auto peak = hardware->peak_flops.find(to_lower(precision->get<std::string>()));
  if (peak == hardware->peak_flops.end()) return;
  plan.peak_flops = peak->second;
  plan.peak_flops_origin = hardware->origin;
}

// A node's path to the programs is known only there: until then the placeholder stays.
std::map<std::string, std::string> known_paths(const Cluster& cluster, const PlanOptions& options) {
  if (!cluster.traits.one_machine) return {};
  return {{"bindir", options.bindir}};
}

// In a container, only `data` is known to have the same path outside.
std::vector<std::string> data_paths_of(const Workload& workload, const CasePlan& plan) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
  };
  add(plan.data);
  if (plan.container) return paths;
  for (const std::string& key : workload.data_keys)
    if (const auto value = plan.config.find(key); value != plan.config.end() && value->is_string())
      add(value->get<std::string>());
  return paths;
}

// Sets up a case's experiment; its rounds last as long as there are workers.
void resolve_automl(const SuiteCase& wanted, CasePlan& plan) {
  if (!wanted.automl) return;
  if (plan.launch != LaunchMode::per_rank)
    wanted.node.fail("the workers of an experiment are started by agents, one by one",
                     "leave 'launch' out, and 'mpi' of cluster.slurm");
  automl::ExperimentSettings settings = *wanted.automl;
  if (plan.procs % settings.devices_per_trial != 0)
    wanted.node.fail(
        fmt::format("the {} of a node cannot be shared out by devices_per_trial: {}",
                    counted(plan.procs, "process", "processes"), settings.devices_per_trial),
        "a trial takes whole devices of one node: choose a divisor of procs");
  settings.workers = plan.world_size() / settings.devices_per_trial;
  constexpr Nanoseconds kMargin = std::chrono::minutes(10);
  if (plan.limits.time < settings.max_duration + kMargin) {
    if (wanted.limits.time)
      wanted.node.fail("limits.time would end the experiment before its max_duration",
                       "leave limits.time out, or make it longer by ten minutes at least");
    plan.limits.time = settings.max_duration + kMargin;
  }
  plan.automl = settings;
  const auto path = settings.data.find("path");
  if (path != settings.data.end() && path->is_string() && !path->get<std::string>().empty() &&
      !plan.container)
    plan.data_paths.push_back(path->get<std::string>());
}

// Checks now whatever the case is judged by, so that nothing runs for a rule that could never work.
void check_judged(const Workload& workload, CasePlan& plan) {
  std::vector<std::string> own;
  for (const OutputMetric& metric : plan.metrics) own.push_back(metric.name);
  catalog::check_rules(plan.rules, own);
  if (workload.headline.is_null()) return;
  plan.headline = workload.headline.nonempty_text();
  if (!catalog::is_metric(plan.headline, own))
    config::require_known(workload.headline, "metric", plan.headline, catalog::metric_names(own));
}

CasePlan resolve_case(const SuiteCase& wanted, const Suite& suite, const Catalog& catalog,
                      const Vendor& vendor, const PlanOptions& options) {
  static const Workload kNone;
  const Workload* found = workload_of(wanted, catalog);
  const Workload& workload = found == nullptr ? kNone : *found;
  check_placement(wanted, suite.cluster);

  CasePlan plan;
  plan.name = wanted.name;
  plan.model = wanted.model;
  plan.framework = wanted.framework;
  plan.hardware = wanted.hardware;
  plan.nodes = wanted.nodes;
  plan.procs = wanted.procs;
  plan.repeats = options.repeat.value_or(wanted.repeats);
  if (!options.repeat) plan.until = wanted.until;
  plan.warmup_rounds = wanted.warmup_rounds.value_or(suite.defaults.warmup_rounds.value_or(0));
  plan.launch = launch_mode(wanted.launch.value_or(workload.launch));
  if (!wanted.rendezvous.empty()) plan.rendezvous = wanted.rendezvous;
  check_rank_table(wanted, plan, suite.cluster);
  plan.command = wanted.command.empty() ? workload.command : wanted.command;
  plan.env = workload.env;
  for (const std::string& word : workload.command) check_placeholders(workload.origin, word);
  for (const auto& [name, value] : workload.env) check_placeholders(workload.origin, value);
  add_env(suite.defaults.env, plan);
  add_env(wanted.env, plan);
  const std::map<std::string, std::string> known = known_paths(suite.cluster, options);
  for (std::string& word : plan.command) word = catalog::expand_some(word, known);
  for (auto& [name, value] : plan.env) value = catalog::expand_some(value, known);
  check_files(wanted, plan);
  plan.container = wanted.container ? wanted.container : suite.container;
  plan.workdir = wanted.workdir;
  plan.data = wanted.data;
  resolve_config(wanted, found, suite.vendor, plan);
  plan.data_paths = data_paths_of(workload, plan);
  plan.drop_caches = wanted.drop_caches.value_or(suite.defaults.drop_caches.value_or(false));
  plan.bind = wanted.bind.value_or(suite.defaults.bind.value_or(Bind{}));
  plan.metrics = wanted.metrics;
  std::visit(
      [&](const auto& launcher) {
        if constexpr (requires { launcher.adapt(wanted.node, plan); })
          launcher.adapt(wanted.node, plan);
      },
      suite.cluster.options);
  check_binding(wanted, plan, suite.cluster);
  if (plan.container && plan.container->runtime == kPyxis)
    wanted.node.fail("the case '" + plan.name + "' has a container of pyxis, which only srun makes",
                     "launcher: slurm with 'mpi' in cluster.slurm, and no 'launch' in the case");
  if (const auto& target = wanted.target ? wanted.target : workload.target)
    plan.target = Target{target->metric, target->value, target->better};
  resolve_peak(wanted, vendor, plan);
  plan.warmup_steps = workload.warmup_steps.value_or(0);
  plan.warmup_steps = suite.defaults.warmup_steps.value_or(plan.warmup_steps);
  plan.warmup_steps = wanted.warmup_steps.value_or(plan.warmup_steps);
  catalog::LimitSettings limits = workload.limits;
  catalog::overlay(limits, suite.defaults.limits);
  catalog::overlay(limits, wanted.limits);
  plan.limits = resolve_limits(limits);
  const std::vector<catalog::Rule> standard = catalog.standard.of(workload.name);
  std::vector<catalog::RuleChange> changes = workload.rules;
  changes.insert(changes.end(), suite.defaults.rules.begin(), suite.defaults.rules.end());
  changes.insert(changes.end(), wanted.rules.begin(), wanted.rules.end());
  plan.rules = catalog::resolve_rules(catalog.rules, changes);
  plan.rule_changes = catalog::rule_differences(standard, plan.rules, changes);
  resolve_automl(wanted, plan);
  check_judged(workload, plan);
  resolve_config_use(wanted, found, suite.cluster, plan);
  plan.origin = origins_of(wanted, suite, found, options, plan);
  plan.sweep = wanted.point;
  for (const Node& name : wanted.after)
    for (std::string& one : cases_named(suite, name.text())) plan.after.push_back(std::move(one));
  plan.only_if = wanted.only_if;
  plan.hooks = resolve_hooks(wanted.hooks, suite.cluster, options.bindir, known);
  return plan;
}

bool selects(const std::string& pattern, const SuiteCase& wanted) {
  return pattern == wanted.name || pattern == wanted.model ||
         (wanted.point && pattern == wanted.point->sweep) ||
         (is_glob(pattern) && glob_matches(pattern, wanted.name));
}

// Includes their dependencies, in execution order.
std::vector<const SuiteCase*> selected_cases(const Suite& suite,
                                             const std::vector<std::string>& only) {
  std::vector<std::string> names;
  for (const SuiteCase& wanted : suite.cases) {
    if (wanted.point && (names.empty() || names.back() != wanted.point->sweep))
      names.push_back(wanted.point->sweep);
    if (!wanted.point) names.push_back(wanted.name);
  }
  for (const std::string& pattern : only)
    if (std::ranges::none_of(suite.cases, [&](const auto& c) { return selects(pattern, c); }))
      throw Error(ErrorKind::config,
                  "no case matches '" + printable(ellipsize(pattern, 200)) + "'" +
                      did_you_mean(pattern, names),
                  "--only", "cases: " + join(names, ", "));
  std::vector<std::size_t> selected;
  for (std::size_t i = 0; i < suite.cases.size(); ++i)
    if (only.empty() || std::ranges::any_of(only, [&](const auto& pattern) {
          return selects(pattern, suite.cases[i]);
        }))
      selected.push_back(i);
  std::vector<const SuiteCase*> out;
  for (const std::size_t index : in_order(suite, selected)) out.push_back(&suite.cases[index]);
  return out;
}

const Vendor& vendor_of(const Suite& suite, const Catalog& catalog) {
  const Vendor* vendor = catalog.find_vendor(suite.vendor);
  const Node& node = suite.vendor_node.is_null() ? suite.root : suite.vendor_node;
  if (vendor == nullptr)
    config::require_known(node, "vendor", suite.vendor, catalog.vendor_names());
  catalog::check_vendor(*vendor);
  return *vendor;
}

// The node that depends on devices: `vendor: auto`, or the first `procs: devices` or `needs`.
Node device_wish(const Suite& suite) {
  if (suite.vendor == kAnyVendor && !suite.vendor_node.is_null()) return suite.vendor_node;
  for (const SuiteCase& wanted : suite.cases) {
    if (!wanted.procs_by_devices && !wanted.needs) continue;
    const Node* key = wanted.node.find(wanted.procs_by_devices ? "procs" : "needs");
    return key == nullptr ? wanted.node : *key;
  }
  return suite.root;
}

Devices find_devices(const Suite& suite, const PlanOptions& options) {
  const Node node = device_wish(suite);
  if (!suite.cluster.traits.one_machine)
    node.fail("the suite asks for the devices of the machine that plans, but runs on others",
              "name 'vendor', 'hardware' and the number of 'procs', and leave 'needs' out");
  if (!options.find_devices)
    node.fail("the suite depends on the devices of this machine, which were not looked for");
  const bool built_in = std::ranges::any_of(
      suite.cases, [](const SuiteCase& wanted) { return wanted.command.empty(); });
  try {
    return options.find_devices(suite.vendor == kAnyVendor ? "" : suite.vendor, built_in);
  } catch (const Error& error) {
    if (!error.where().empty()) throw;
    throw Error(error.kind(), error.message(), node.where(), error.advice());
  }
}

std::vector<std::string> as_given(const PlanOptions& options) {
  std::vector<std::string> out;
  for (const std::string& text : options.overrides) out.push_back("--set " + text);
  for (const std::string& text : options.only) out.push_back("--only " + text);
  if (options.repeat) out.push_back("--repeat " + std::to_string(*options.repeat));
  return out;
}

}  // namespace

Plan make_plan(const Suite& given, const Catalog& catalog, const PlanOptions& asked) {
  const PlanOptions options =
      asked.challenge ? answering(expand_sweeps(given, catalog), asked) : asked;
  if (options.repeat && (*options.repeat < 1 || *options.repeat > kMaxRepeats))
    throw Error(ErrorKind::usage,
                "expected a whole number from 1 to " + std::to_string(kMaxRepeats) + ", got " +
                    std::to_string(*options.repeat),
                "--repeat");
  Suite suite = given;
  if (!options.overrides.empty())
    suite = read_suite(apply_overrides(given, catalog, options.overrides));
  suite = expand_sweeps(suite, catalog);
  std::optional<Devices> devices;
  if (uses_devices(suite)) {
    devices = find_devices(suite, options);
    suite = with_devices(suite, *devices, catalog);
  }
  suite.file = given.file;
  suite.sha256 = given.sha256;
  const Vendor& vendor = vendor_of(suite, catalog);

  Plan plan;
  plan.run_id = options.run_id;
  plan.suite = suite.name;
  plan.suite_file = suite.file;
  plan.suite_sha256 = suite.sha256;
  plan.created = options.created.empty() ? iso_utc(wall_now_ns()) : options.created;
  plan.assay_version = version_string();
  plan.overrides = as_given(asked);
  plan.challenge = options.challenge;
  plan.vendor = suite.vendor;
  plan.vendor_data = catalog::to_json(vendor, known_paths(suite.cluster, options));
  plan.cluster = suite.cluster;
  plan.telemetry = suite.telemetry;
  plan.submission = suite.submission;
  // Read after --set has been applied, but before anything runs.
  if (!suite.baseline.is_null()) plan.baseline = read_baseline(suite.baseline);
  for (const SuiteCase* wanted : selected_cases(suite, options.only)) {
    std::string unmet = devices ? unmet_need(*wanted, *devices) : std::string();
    if (unmet.empty()) unmet = left_out_before(*wanted, suite, plan);
    if (unmet.empty())
      plan.cases.push_back(resolve_case(*wanted, suite, catalog, vendor, options));
    else
      plan.left_out.push_back({wanted->name, std::move(unmet)});
  }
  if (plan.cases.empty())
    throw Error(ErrorKind::environment,
                "no case is left to run: " + plan.left_out.front().name + " " +
                    plan.left_out.front().reason,
                suite.file, "choose others with --only, or another suite");
  plan.hooks = resolve_hooks(suite.hooks, suite.cluster, options.bindir,
                             known_paths(suite.cluster, options));
  check_conditions(suite, plan);
  for (Sweep& sweep : suite.sweeps)
    if (std::ranges::any_of(plan.cases, [&](const CasePlan& one) {
          return one.sweep && one.sweep->sweep == sweep.name;
        }))
      plan.sweeps.push_back(std::move(sweep));
  return plan;
}

}  // namespace assay::plan
