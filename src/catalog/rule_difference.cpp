#include "catalog/rule_difference.h"

#include <algorithm>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"
#include "core/json_error.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::catalog {

namespace {

const Rule* rule_of(const std::vector<Rule>& rules, const std::string& id) {
  const auto found = std::ranges::find(rules, id, &Rule::id);
  return found == rules.end() ? nullptr : &*found;
}

std::string unit_of(const std::string& fact) {
  if (const FactInfo* info = find_fact(fact)) return std::string(info->unit);
  if (const KnownMetric* metric = find_known_metric(fact)) return std::string(metric->unit);
  if (const MetricFamily* family = find_metric_family(fact)) return std::string(family->unit);
  return {};
}

bool asks_otherwise(const Rule& before, const Rule& now) {
  return now.fact != before.fact || now.scope != before.scope || now.aspect != before.aspect;
}

bool same_rule(const Rule& before, const Rule& now) {
  return now.min == before.min && now.max == before.max && now.required == before.required &&
         now.severity == before.severity && !asks_otherwise(before, now);
}

// Describes everything that decides, for when severity or question differ.
std::string whole_text(const Rule& rule, const Rule& other) {
  std::string text = bound_text(rule);
  if (asks_otherwise(rule, other)) {
    text = rule.fact + " " + text;
    if (rule.scope != other.scope) text += " of a " + std::string(to_text(rule.scope));
    if (rule.aspect != other.aspect) text += " as " + std::string(to_text(rule.aspect));
  }
  if (rule.severity == other.severity) return text;
  const std::string severity(to_text(rule.severity));
  return text == bound_text(other) ? severity : severity + " for " + text;
}

std::string amount(double value, const std::string& unit) {
  if (unit == "ratio") return format_number(value * 100) + " %";
  return format_number(value) + (unit.empty() || unit == "1" ? "" : " " + unit);
}

}  // namespace

bool RuleDifference::relaxed() const {
  if (!standard) return false;
  if (!in_force) return true;
  const Rule& before = *standard;
  const Rule& now = *in_force;
  const bool wider_below = before.min && (!now.min || *now.min < *before.min);
  const bool wider_above = before.max && (!now.max || *now.max > *before.max);
  return wider_below || wider_above || (before.required && !now.required) ||
         now.severity < before.severity || asks_otherwise(before, now);
}

std::vector<RuleDifference> rule_differences(const std::vector<Rule>& standard,
                                             const std::vector<Rule>& in_force,
                                             const std::vector<RuleChange>& changes) {
  std::vector<RuleDifference> out;
  for (const Rule& before : standard) {
    const Rule* now = rule_of(in_force, before.id);
    if (now != nullptr && same_rule(before, *now)) continue;
    RuleDifference& next = out.emplace_back(RuleDifference{before, std::nullopt, {}});
    if (now != nullptr) next.in_force = *now;
  }
  for (const Rule& now : in_force)
    if (rule_of(standard, now.id) == nullptr) out.push_back(RuleDifference{std::nullopt, now, {}});
  for (RuleDifference& difference : out) {
    difference.origin =
        difference.in_force ? difference.in_force->origin : "left out of conf/rules";
    for (const RuleChange& change : changes)
      if (change.id == difference.id()) difference.origin = change.node.origin();
  }
  return out;
}

std::string bound_text(const Rule& rule) {
  const std::string unit = unit_of(rule.fact);
  std::vector<std::string> parts;
  if (rule.min && rule.max)
    parts.push_back(amount(*rule.min, unit) + " to " + amount(*rule.max, unit));
  else if (rule.min)
    parts.push_back("at least " + amount(*rule.min, unit));
  else if (rule.max)
    parts.push_back("at most " + amount(*rule.max, unit));
  if (rule.required) parts.emplace_back("must be known");
  return join(parts, ", ");
}

std::string difference_text(const RuleDifference& difference) {
  const auto& [standard, in_force, origin] = difference;
  std::string text = difference.id() + ": ";
  if (!standard)
    text += bound_text(*in_force) + ", which is not standard";
  else if (!in_force)
    text += "off instead of " + bound_text(*standard);
  else
    text += whole_text(*in_force, *standard) + " instead of " + whole_text(*standard, *in_force);
  return text + (origin.empty() ? "" : " (" + origin + ")");
}

Json to_json(const std::vector<RuleDifference>& differences) {
  Json out = Json::array();
  for (const RuleDifference& difference : differences) {
    const auto one_rule = [](const std::optional<Rule>& rule) {
      return rule ? to_json(std::vector<Rule>{*rule}).at(0) : Json();
    };
    out.push_back({{"standard", one_rule(difference.standard)},
                   {"in_force", one_rule(difference.in_force)},
                   {"origin", difference.origin}});
  }
  return out;
}

std::vector<RuleDifference> rule_differences_from_json(const Json& json, const std::string& where) {
  const auto one_rule = [&](const Json& item) -> std::optional<Rule> {
    if (item.is_null()) return std::nullopt;
    return rules_from_json(Json::array({item}), where).at(0);
  };
  try {
    std::vector<RuleDifference> out;
    for (const Json& item : json) {
      RuleDifference next{one_rule(item.at("standard")), one_rule(item.at("in_force")),
                          item.at("origin").get<std::string>()};
      if (!next.standard && !next.in_force)
        throw Error(ErrorKind::config, "a changed rule has neither 'standard' nor 'in_force'",
                    where);
      out.push_back(std::move(next));
    }
    return out;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::config, "not a list of changed rules: " + plain_error(e), where);
  }
}

}  // namespace assay::catalog
