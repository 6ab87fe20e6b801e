#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "automl/experiment_settings.h"
#include "core/address.h"
#include "core/text.h"
#include "core/units.h"
#include "plan/make_plan.h"
#include "plan/repeats.h"

namespace assay::plan {

namespace {

// Writes "label   value", with the values of all lines aligned.
void line(std::string& out, std::string_view label, std::string_view value) {
  out += fmt::format("  {:<12}{}\n", label, value);
}

std::string bound(const catalog::Rule& rule) {
  std::string text = rule.fact;
  if (rule.min && rule.max)
    text = fmt::format("{} ≤ {} ≤ {}", *rule.min, rule.fact, *rule.max);
  else if (rule.min)
    text = fmt::format("{} ≥ {}", rule.fact, *rule.min);
  else if (rule.max)
    text = fmt::format("{} ≤ {}", rule.fact, *rule.max);
  return text + (rule.required ? ", must be known" : "");
}

std::string binding_text(const Bind& bind) {
  if (bind.mode == BindMode::cores) return "the cores of a node are shared out to its ranks";
  if (bind.mode == BindMode::numa) return "each rank to one NUMA node";
  std::vector<std::string> lists;
  for (const CpuSet& cpus : bind.lists) lists.push_back(cpus.text());
  return "CPUs " + join(lists, " | ");
}

void render_config(std::string& out, const CasePlan& plan) {
  if (plan.config.empty()) return;
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const auto& [key, value] : plan.config.items()) {
    key_width = std::max(key_width, code_points(key));
    value_width = std::max(value_width, code_points(dump_line(value)));
  }
  value_width = std::min<std::size_t>(value_width, 40);
  out += plan.config_use == ConfigUse::offered
             ? "  config (config.json; whether the command reads it is its own affair)\n"
             : "  config\n";
  for (const auto& [key, value] : plan.config.items()) {
    const auto origin = plan.config_origin.find(key);
    out += fmt::format("    {:<{}} = {:<{}}  # {}\n", key, key_width, dump_line(value), value_width,
                       origin == plan.config_origin.end() ? "" : origin->second);
  }
}

std::string rule_text(const catalog::Rule& rule) {
  return fmt::format("{} ({}, {}): {}  # {}", rule.id, to_text(rule.scope), to_text(rule.severity),
                     bound(rule), rule.origin);
}

void render_automl(std::string& out, const CasePlan& plan) {
  const automl::ExperimentSettings& s = *plan.automl;
  line(out, "automl",
       fmt::format("from {}, at most {} and {} trials, seed {}",
                   s.start.is_string() ? s.start.get<std::string>() : "a graph of its own",
                   duration_text(s.max_duration), s.max_trials, s.seed));
  std::vector<std::string> epochs;
  for (const int n : s.epochs) epochs.push_back(std::to_string(n));
  line(out, "trials",
       fmt::format("epochs {} by round of {}, patience {}, each at most {}, {}", join(epochs, "/"),
                   counted(s.workers, "trial"),
                   !s.patience               ? "AIPerf's"
                   : s.patience->epochs == 0 ? "off"
                                             : counted(s.patience->epochs, "epoch"),
                   duration_text(s.trial_limit),
                   s.inherit ? "weights of the parent" : "weights of their own"));
  line(out, "trained on", dump_line(s.data));
  if (s.space.is_null()) line(out, "hyper", dump_line(automl::to_json(s.hyper)));
  for (const auto& [name, range] : s.space.items())
    line(out, "space", fmt::format("{} {}", name, dump_line(range)));
}

std::string sweep_text(const Sweep& sweep, const Plan& plan) {
  std::vector<std::string> axes;
  std::size_t grid = 1;
  for (const SweepDimension& one : sweep.dimensions) {
    std::vector<std::string> values;
    for (const Json& value : one.values)
      values.push_back(value.is_string() ? value.get<std::string>() : dump_line(value));
    axes.push_back(one.key + " " + join(values, ", "));
    grid *= one.values.size();
  }
  const auto points = std::ranges::count_if(
      plan.cases, [&](const CasePlan& one) { return one.sweep && one.sweep->sweep == sweep.name; });
  return fmt::format(
      "{}: {}; {} of {}{}  # {}", sweep.name, join(axes, " × "), points, counted(grid, "point"),
      sweep.excluded > 0 ? fmt::format(", {} left out by its constraints", sweep.excluded) : "",
      sweep.origin);
}

void render_hooks(std::string& out, const std::vector<Hook>& hooks) {
  for (const Hook& hook : hooks)
    line(out, "hook",
         fmt::format("{} ({}, on the {}, at most {}{}): {}  # {}", hook.name, to_text(hook.when),
                     to_text(hook.on), duration_text(hook.time), hook.required ? "" : ", may fail",
                     shell_join(hook.command), hook.origin));
}

void render_case(std::string& out, const CasePlan& plan, const std::set<std::string>& common) {
  out += fmt::format("case {}\n", plan.name);
  line(out, "runs",
       fmt::format("{} of {} ({} × {} per node), launched {}", rounds_text(plan),
                   counted(plan.world_size(), "process", "processes"), counted(plan.nodes, "node"),
                   plan.procs, to_text(plan.launch)));
  line(out, "model",
       fmt::format("{}, framework {}, hardware {}", plan.model, plan.framework, plan.hardware));
  if (plan.rendezvous != std::vector<std::string>{"torchrun"})
    line(out, "rendezvous", join(plan.rendezvous, ", "));
  line(out, "command", shell_join(plan.command));
  if (plan.container)
    line(out, "container",
         fmt::format("{} with {}, pull {}", plan.container->image, plan.container->runtime,
                     plan.container->pull));
  if (plan.automl) render_automl(out, plan);
  if (plan.sweep) line(out, "sweep", plan.sweep->sweep);
  if (!plan.after.empty()) line(out, "after", join(plan.after, ", "));
  for (const Condition& condition : plan.only_if)
    line(out, "only if", fmt::format("{}  # {}", condition.text(), condition.origin));
  render_hooks(out, plan.hooks);
  if (!plan.workdir.empty()) line(out, "workdir", plan.workdir);
  if (!plan.data.empty()) line(out, "data", plan.data);
  for (const auto& [name, value] : plan.env)
    line(out, "env", fmt::format("{}={}", name, shell_quote(value)));
  render_config(out, plan);
  for (const auto& [key, value] : plan.declared.items())
    line(out, "declared", fmt::format("{} = {}", key, dump_line(value)));
  for (const OutputMetric& metric : plan.metrics)
    line(out, "metric",
         fmt::format("{} [{}] from /{}/, {} of a rank, {} over ranks, {} is better", metric.name,
                     metric.unit, metric.pattern,
                     (metric.kind == OutputKind::speed ? "a speed, " : "") + metric.reduce,
                     metric.across, to_text(metric.better)));
  if (plan.target)
    line(out, "target",
         fmt::format("{} {} {}", plan.target->metric,
                     plan.target->better == Better::lower ? "≤" : "≥", plan.target->value));
  if (plan.peak_flops)
    line(out, "peak",
         fmt::format("{:.4g} FLOP/s per device  # {}", *plan.peak_flops, plan.peak_flops_origin));
  if (plan.drop_caches) line(out, "caches", "dropped before every round");
  if (plan.bind.mode != BindMode::none) line(out, "binding", binding_text(plan.bind));
  if (plan.warmup_steps > 0) line(out, "warm-up", counted(plan.warmup_steps, "step"));
  line(out, "limits",
       fmt::format("time {}, stall {}, grace {}, output {} per rank",
                   duration_text(plan.limits.time),
                   plan.limits.stall.count() == 0 ? "off" : duration_text(plan.limits.stall),
                   duration_text(plan.limits.grace),
                   format_bytes(static_cast<double>(plan.limits.output_bytes))));
  if (plan.rule_changes)
    for (const catalog::RuleDifference& difference : *plan.rule_changes)
      line(out, difference.relaxed() ? "relaxed" : "changed", difference_text(difference));
  for (const catalog::Rule& rule : plan.rules)
    if (const std::string text = rule_text(rule); !common.contains(text)) line(out, "rule", text);
}

std::string host_text(const Host& host) {
  std::vector<std::string> parts;
  if (host.slots != 0) parts.push_back(counted(host.slots, "slot"));
  if (!host.server_id.empty()) parts.push_back("server " + host.server_id);
  if (!host.super_pod.empty()) parts.push_back("super-pod " + host.super_pod);
  if (!host.device_ips.empty()) parts.push_back("devices " + join(host.device_ips, " "));
  if (!host.ib_addr.empty()) parts.push_back("InfiniBand " + host.ib_addr);
  for (const auto& [name, value] : host.env)
    parts.push_back(fmt::format("{}={}", name, shell_quote(value)));
  return parts.empty() ? host.name : fmt::format("{} ({})", host.name, join(parts, ", "));
}

// The rules shared by every case.
std::vector<std::string> common_rules(const Plan& plan) {
  std::vector<std::string> common;
  if (plan.cases.size() < 2) return common;
  for (const catalog::Rule& rule : plan.cases.front().rules) common.push_back(rule_text(rule));
  // Each rule of each case is written only once, because a suite may have thousands of cases.
  for (const CasePlan& other : plan.cases) {
    std::set<std::string> theirs;
    for (const catalog::Rule& rule : other.rules) theirs.insert(rule_text(rule));
    std::erase_if(common, [&](const std::string& text) { return !theirs.contains(text); });
  }
  return common;
}

}  // namespace

std::string render_text(const Plan& plan) {
  std::string out = fmt::format("suite {} ({})\n", plan.suite, plan.suite_file);
  line(out, "run", plan.run_id);
  line(out, "assay", plan.assay_version);
  for (const std::string& text : plan.overrides) line(out, "override", text);
  line(out, "vendor", plan.vendor);
  for (const Json& sample : plan.vendor_data.value("samples", Json::array()))
    line(out, "devices", shell_join(sample.value("command", std::vector<std::string>{})));
  line(out, "launcher", plan.cluster.launcher());
  for (const Host& host : plan.cluster.hosts) line(out, "host", host_text(host));
  line(out, "telemetry",
       plan.telemetry.enabled ? "every " + duration_text(plan.telemetry.interval) : "off");
  if (const std::string& listen = plan.telemetry.prometheus; !listen.empty()) {
    const auto endpoint = parse_endpoint(listen);
    line(
        out, "metrics",
        "http://" + listen + "/metrics on every node" +
            (endpoint && is_loopback(endpoint->address) ? ""
                                                        : ", readable by anyone who can reach it"));
  }
  if (plan.baseline)
    line(out, "baseline", plan.baseline->file + ", sha256 " + plan.baseline->sha256);
  for (const Sweep& sweep : plan.sweeps) line(out, "sweep", sweep_text(sweep, plan));
  render_hooks(out, plan.hooks);
  for (const LeftOut& left : plan.left_out) line(out, "left out", left.name + ": " + left.reason);
  const std::vector<std::string> common = common_rules(plan);
  for (const CasePlan& c : plan.cases) {
    out += '\n';
    render_case(out, c, {common.begin(), common.end()});
  }
  if (!common.empty()) out += "\nevery case\n";
  for (const std::string& rule : common) line(out, "rule", rule);
  return printable(out);
}

}  // namespace assay::plan
