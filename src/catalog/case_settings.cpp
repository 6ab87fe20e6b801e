#include "catalog/case_settings.h"

#include <algorithm>
#include <set>

namespace assay::catalog {

using config::Mapping;
using config::Node;

const std::vector<std::string>& limit_keys() {
  static const std::vector<std::string> keys{"time", "stall", "grace", "output"};
  return keys;
}

const std::vector<std::string>& rule_change_keys() {
  static const std::vector<std::string> keys{"enabled", "min", "max", "required", "severity"};
  return keys;
}

const std::vector<std::string>& target_keys() {
  static const std::vector<std::string> keys{"metric", "value", "better"};
  return keys;
}

const std::vector<std::string>& launch_modes() {
  static const std::vector<std::string> modes{"per-rank", "per-node", "head"};
  return modes;
}

LimitSettings read_limits(const Node& node) {
  using namespace std::chrono_literals;
  constexpr Nanoseconds kYear = std::chrono::hours(24 * 366);
  const Mapping map(node, "limits", limit_keys());
  LimitSettings limits;
  if (const Node* time = map.find("time")) limits.time = time->duration(1ms, kYear);
  if (const Node* stall = map.find("stall"))
    limits.stall = stall->is_off() ? Nanoseconds(0) : stall->duration(0ns, kYear);
  if (const Node* grace = map.find("grace")) limits.grace = grace->duration(0ns, 24h);
  if (const Node* output = map.find("output")) {
    constexpr std::uint64_t kMinOutput = 4096;
    const std::uint64_t bytes = output->size();
    if (bytes < kMinOutput)
      output->fail("expected a size of at least 4K, got " + output->describe());
    limits.output_bytes = bytes;
  }
  return limits;
}

std::vector<RuleChange> read_rule_changes(const Node& node) {
  std::vector<RuleChange> changes;
  for (const config::Entry& entry : node.entries()) {
    if (entry.value.is_null()) continue;
    RuleChange change;
    change.id = entry.key;
    change.node = entry.value;
    if (entry.value.is_scalar()) {
      try {
        change.enabled = entry.value.boolean();
      } catch (const Error&) {
        entry.value.fail("expected on, off or a change such as {min: 5}, got " +
                         entry.value.describe());
      }
    } else {
      const Mapping map(entry.value, "the rule '" + entry.key + "'", rule_change_keys());
      if (const Node* enabled = map.find("enabled")) change.enabled = enabled->boolean();
      if (const Node* min = map.find("min")) change.min = min->number();
      if (const Node* max = map.find("max")) change.max = max->number();
      if (const Node* required = map.find("required")) change.required = required->boolean();
      if (map.has("severity"))
        change.severity = parse_enum<Severity>(map.choice("severity", enum_texts<Severity>()));
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

TargetSetting read_target(const Node& node) {
  const Mapping map(node, "target", target_keys());
  TargetSetting target;
  target.metric = map.at("metric").nonempty_text();
  target.value = map.at("value").number();
  target.better =
      map.choice("better", {"higher", "lower"}) == "higher" ? Better::higher : Better::lower;
  return target;
}

int read_warmup_steps(const Node& node) {
  return static_cast<int>(node.integer(0, 1'000'000'000));
}

void overlay(LimitSettings& base, const LimitSettings& stronger) {
  if (stronger.time) base.time = stronger.time;
  if (stronger.stall) base.stall = stronger.stall;
  if (stronger.grace) base.grace = stronger.grace;
  if (stronger.output_bytes) base.output_bytes = stronger.output_bytes;
}

std::vector<Rule> resolve_rules(std::vector<Rule> rules, const std::vector<RuleChange>& changes) {
  std::vector<std::string> ids;
  for (const Rule& rule : rules) ids.push_back(rule.id);
  std::set<std::string> off;
  for (const RuleChange& change : changes) {
    config::require_known(change.node, "rule", change.id, ids);
    Rule& rule = *std::ranges::find(rules, change.id, &Rule::id);
    if (change.enabled.value_or(true))
      off.erase(change.id);
    else
      off.insert(change.id);
    if (change.min) rule.min = change.min;
    if (change.max) rule.max = change.max;
    if (change.required) rule.required = *change.required;
    if (change.severity) rule.severity = *change.severity;
    if (rule.min && rule.max && *rule.min > *rule.max)
      change.node.fail("rule '" + change.id + "': min is above max");
    if (change.min || change.max || change.required || change.severity)
      rule.origin = change.node.origin();
  }
  std::erase_if(rules, [&](const Rule& rule) { return off.contains(rule.id); });
  return rules;
}

}  // namespace assay::catalog
