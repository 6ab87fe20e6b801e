#include "plan/dependencies.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "catalog/rule.h"
#include "config/mapping.h"
#include "core/text.h"
#include "core/units.h"
#include "plan/command.h"

namespace assay::plan {

using config::Mapping;
using config::Node;

namespace {

constexpr const char* kConditionForm =
    "for example only_if: {case: warm, verdict: VALID}, or {case: train, metric: "
    "steady_throughput, min: 100}";
constexpr const char* kHookForm =
    "for example hooks: {before: [make data], after: [{command: sync, on: nodes, time: 1m}]}";
constexpr std::size_t kMaxHooks = 100;
constexpr std::size_t kMaxHookName = 30;
constexpr std::size_t kMaxChain = 1000;
constexpr std::string_view kNameCharacters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

std::vector<Node> each_of(const Node& node) {
  return node.is_sequence() ? node.items() : std::vector<Node>{node};
}

Condition read_condition(const Node& node) {
  static const std::vector<std::string> kVerdicts{"VALID", "INVALID", "INCOMPLETE", "SKIPPED"};
  const Mapping map(node, "a condition of 'only_if'", suite_keys().at("only_if"));
  Condition out;
  out.of = map.at("case").nonempty_text();
  out.origin = node.origin();
  if (const Node* verdict = map.find("verdict"))
    for (const Node& one : each_of(*verdict))
      out.verdicts.push_back(config::choice(one, kVerdicts));
  if (const Node* metric = map.find("metric")) {
    if (!out.verdicts.empty())
      metric->fail("a condition is about a verdict or about a metric, not both",
                   "make a list of two conditions");
    out.metric = metric->nonempty_text();
  }
  for (const char* bound : {"min", "max"}) {
    const Node* value = map.find(bound);
    if (value == nullptr) continue;
    if (out.metric.empty())
      value->fail(std::string("'") + bound + "' needs 'metric'", kConditionForm);
    (bound == std::string_view("min") ? out.min : out.max) = value->number();
  }
  if (!out.metric.empty() && !out.min && !out.max)
    node.fail("the condition says no bound for '" + printable(out.metric) + "'",
              "give 'min' or 'max'");
  if (out.min && out.max && *out.min > *out.max) node.fail("'min' is above 'max'");
  if (out.metric.empty() && out.verdicts.empty()) out.verdicts = {"VALID"};
  return out;
}

// The program's name, reduced to what a folder's name allows.
std::string default_name(const std::string& word) {
  std::string name = word.substr(word.rfind('/') == std::string::npos ? 0 : word.rfind('/') + 1);
  std::erase_if(name, [](char c) { return kNameCharacters.find(c) == std::string_view::npos; });
  return name.empty() ? "hook" : name.substr(0, kMaxHookName - 4);
}

std::string read_name(const Node& node) {
  std::string name = node.nonempty_text();
  if (!is_hook_name(name))
    node.fail("the name of a hook has letters, digits, '-' and '_', at most " +
                  std::to_string(kMaxHookName) + ", got " + node.describe(),
              "it becomes part of a folder of the run directory");
  return name;
}

void read_hook(const Node& node, HookTime when, std::vector<Hook>& hooks) {
  using namespace std::chrono_literals;
  Hook hook;
  hook.when = when;
  hook.origin = node.origin();
  std::string program;
  const Node* name = nullptr;
  if (node.is_mapping()) {
    const Mapping map(node, "a hook", suite_keys().at("hook"));
    const bool shell = map.has("shell") && map.at("shell").boolean();
    hook.command = read_command(map.at("command"), shell);
    program =
        shell ? std::string(split(trim(map.at("command").text()), ' ').front()) : hook.command[0];
    hook.on = *parse_enum<HookPlace>(map.choice("on", {"controller", "nodes"}));
    if (const Node* time = map.find("time")) hook.time = time->duration(1s, 24h);
    if (const Node* required = map.find("required")) hook.required = required->boolean();
    name = map.find("name");
  } else {
    hook.command = read_command(node, false);
    program = hook.command[0];
  }
  hook.name = name != nullptr ? read_name(*name) : default_name(program);
  const auto taken = [&](const std::string& wanted) {
    return std::ranges::any_of(
        hooks, [&](const Hook& other) { return other.when == when && other.name == wanted; });
  };
  if (name != nullptr && taken(hook.name))
    name->fail("two hooks are named '" + hook.name + "'", "give one of them another name");
  const std::string base = hook.name;
  for (int n = 2; taken(hook.name); ++n) hook.name = base + "-" + std::to_string(n);
  if (hooks.size() == kMaxHooks)
    node.fail(fmt::format("more than {} hooks", kMaxHooks), "let one command do several things");
  hooks.push_back(std::move(hook));
}

// Orders the cases by descending into each one's dependencies.
class CaseOrder {
 public:
  explicit CaseOrder(const Suite& suite) : suite_(suite), state_(suite.cases.size()) {}

  void visit(std::size_t index) {
    if (state_[index] == State::done) return;
    if (chain_.size() == kMaxChain)
      suite_.cases[index].node.fail(
          fmt::format("more than {} cases depend on each other in a row", kMaxChain),
          "let them depend on the first of them");
    state_[index] = State::open;
    chain_.push_back(suite_.cases[index].name);
    const SuiteCase& wanted = suite_.cases[index];
    for (const Node& name : wanted.after) follow(wanted, name, name.text());
    for (std::size_t i = 0; i < wanted.only_if.size(); ++i)
      follow(wanted, wanted.only_if_nodes[i], wanted.only_if[i].of);
    chain_.pop_back();
    state_[index] = State::done;
    order.push_back(index);
  }

  std::vector<std::size_t> order;

 private:
  enum class State { fresh, open, done };

  void follow(const SuiteCase& wanted, const Node& place, const std::string& name) {
    const std::vector<std::string> named = cases_named(suite_, name);
    if (named.empty()) {
      std::vector<std::string> all;
      for (const SuiteCase& other : suite_.cases)
        all.push_back(other.point ? other.point->sweep : other.name);
      all.erase(std::unique(all.begin(), all.end()), all.end());
      place.fail("the case '" + printable(wanted.name) + "' depends on '" +
                     printable(ellipsize(name, 100)) + "', which is not a case" +
                     did_you_mean(name, all),
                 "cases: " + ellipsize(join(all, ", "), 400));
    }
    for (const std::string& one : named) {
      const auto at = std::ranges::find(suite_.cases, one, &SuiteCase::name);
      const auto index = static_cast<std::size_t>(at - suite_.cases.begin());
      if (state_[index] == State::open) {
        const auto from = std::ranges::find(chain_, one);
        std::vector<std::string> circle(from, chain_.end());
        circle.push_back(one);
        place.fail("cases depend on each other in a circle: " + ellipsize(join(circle, " → "), 400),
                   "each of these is to be run after the next; take one of the names away");
      }
      visit(index);
    }
  }

  const Suite& suite_;
  std::vector<State> state_;
  std::vector<std::string> chain_;
};

}  // namespace

std::string Condition::text() const {
  if (metric.empty()) return fmt::format("the verdict of '{}' is {}", of, join(verdicts, " or "));
  std::string bounds;
  if (min) bounds += " ≥ " + format_number(*min);
  if (max) bounds += std::string(bounds.empty() ? "" : " and") + " ≤ " + format_number(*max);
  return fmt::format("{} of '{}' is{}", metric, of, bounds);
}

std::vector<Node> read_after(const Node& node) {
  std::vector<Node> out = each_of(node);
  std::set<std::string> seen;
  for (const Node& name : out)
    if (!seen.insert(name.nonempty_text()).second) name.fail(name.describe() + " is listed twice");
  return out;
}

std::vector<Condition> read_only_if(const Node& node, std::vector<Node>& nodes) {
  std::vector<Condition> out;
  nodes = each_of(node);
  if (nodes.empty()) node.fail("the list is empty", kConditionForm);
  for (const Node& one : nodes) out.push_back(read_condition(one));
  return out;
}

std::vector<Hook> read_hooks(const Node& node) {
  const Mapping map(node, "hooks", suite_keys().at("hooks"));
  std::vector<Hook> hooks;
  for (const HookTime when : {HookTime::before, HookTime::after})
    if (const Node* listed = map.find(to_text(when)))
      for (const Node& one : each_of(*listed)) {
        if (one.is_null()) one.fail("the hook is empty", kHookForm);
        read_hook(one, when, hooks);
      }
  return hooks;
}

std::vector<std::string> cases_named(const Suite& suite, const std::string& name) {
  std::vector<std::string> out;
  for (const SuiteCase& wanted : suite.cases)
    if (wanted.name == name || (wanted.point && wanted.point->sweep == name))
      out.push_back(wanted.name);
  return out;
}

std::vector<std::size_t> in_order(const Suite& suite, const std::vector<std::size_t>& selected) {
  CaseOrder order(suite);
  for (const std::size_t index : selected) order.visit(index);
  return std::move(order.order);
}

std::string hook_folder(const Hook& hook, const std::string& case_name) {
  const std::string name = fmt::format("{}{}.{}", kHookFolder, to_text(hook.when), hook.name);
  return case_name.empty() ? name : name + "." + case_name;
}

bool is_hook_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxHookName &&
         name.find_first_not_of(kNameCharacters) == std::string_view::npos;
}

std::vector<std::string> hook_folders(const Plan& plan) {
  std::vector<std::string> out;
  for (const Hook& hook : plan.hooks) out.push_back(hook_folder(hook, ""));
  for (const CasePlan& one : plan.cases)
    for (const Hook& hook : one.hooks) out.push_back(hook_folder(hook, one.name));
  return out;
}

CasePlan hook_case(const Hook& hook, const std::string& case_name, int nodes) {
  CasePlan out;
  out.name = hook_folder(hook, case_name);
  out.model = "hook";
  out.framework = "command";
  out.nodes = nodes;
  out.command = hook.command;
  out.env["ASSAY_CASE"] = case_name;
  out.limits.time = hook.time;
  out.limits.stall = Nanoseconds(0);
  out.limits.grace = std::chrono::seconds(2);
  out.limits.output_bytes = 1 << 20;
  return out;
}

// The placeholders depend on where a hook runs: there are no ranks on the controller.
std::vector<Hook> resolve_hooks(std::vector<Hook> hooks, const Cluster& cluster,
                                const std::string& bindir,
                                const std::map<std::string, std::string>& on_nodes) {
  for (Hook& hook : hooks) {
    const bool here = hook.on == HookPlace::controller;
    if (!here && !cluster.traits.starts_agents)
      throw Error(ErrorKind::config,
                  "the hook '" + hook.name + "' is to run on the nodes, where the launcher " +
                      cluster.launcher() + " starts nothing but its jobs",
                  hook.origin, "let it run on the controller");
    const std::map<std::string, std::string> known =
        here ? std::map<std::string, std::string>{{"bindir", bindir}} : on_nodes;
    for (std::string& word : hook.command) {
      for (const std::string& name : placeholder_names())
        if ((here ? name != "bindir" : name == "hostfile" || name == "ranktable") &&
            uses_placeholder(word, name))
          throw Error(
              ErrorKind::config,
              fmt::format("{{{}}} is used by the hook '{}', which has none", name, hook.name),
              hook.origin,
              "the variables ASSAY_CASE and, on the controller, ASSAY_RUN_DIR are set; "
              "{{text}} stands for braces");
      word = catalog::expand_some(word, known);
      if (here) word = expand(word, {}, {});
    }
  }
  return hooks;
}

std::string left_out_before(const SuiteCase& wanted, const Suite& suite, const Plan& plan) {
  std::vector<std::string> names;
  for (const Node& name : wanted.after) names.push_back(name.text());
  for (const Condition& condition : wanted.only_if) names.push_back(condition.of);
  for (const std::string& name : names)
    for (const std::string& one : cases_named(suite, name))
      if (std::ranges::find(plan.left_out, one, &LeftOut::name) != plan.left_out.end())
        return "depends on " + one + ", which is left out";
  return {};
}

void check_conditions(const Suite& suite, const Plan& plan) {
  for (const SuiteCase& wanted : suite.cases)
    for (std::size_t i = 0; i < wanted.only_if.size(); ++i) {
      const Condition& condition = wanted.only_if[i];
      if (condition.metric.empty()) continue;
      for (const std::string& name : cases_named(suite, condition.of)) {
        const CasePlan* other = plan.find_case(name);
        if (other == nullptr) continue;
        std::vector<std::string> own;
        for (const OutputMetric& metric : other->metrics) own.push_back(metric.name);
        if (!catalog::is_metric(condition.metric, own))
          config::require_known(wanted.only_if_nodes[i], "metric", condition.metric,
                                catalog::metric_names(own));
      }
    }
}

const CasePlan* Plan::find_case(std::string_view name) const noexcept {
  const auto found = std::ranges::find(cases, name, &CasePlan::name);
  return found == cases.end() ? nullptr : &*found;
}

}  // namespace assay::plan
