#include "catalog/rule_difference.h"

#include <algorithm>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"
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

std::string amount(double value, const std::string& unit) {
  if (unit == "ratio") return format_number(value * 100) + " %";
  return format_number(value) + (unit.empty() || unit == "1" ? "" : " " + unit);
}

}  // namespace

bool RuleDifference::relaxed() const {
  if (!in_force) return true;
  const Rule& now = *in_force;
  const bool wider_below = standard.min && (!now.min || *now.min < *standard.min);
  const bool wider_above = standard.max && (!now.max || *now.max > *standard.max);
  return wider_below || wider_above || (standard.required && !now.required) ||
         now.severity < standard.severity;
}

std::vector<RuleDifference> rule_differences(const std::vector<Rule>& standard,
                                             const std::vector<Rule>& in_force,
                                             const std::vector<RuleChange>& changes) {
  std::vector<RuleDifference> out;
  for (const Rule& before : standard) {
    const Rule* now = rule_of(in_force, before.id);
    const bool same = now != nullptr && now->min == before.min && now->max == before.max &&
                      now->required == before.required && now->severity == before.severity;
    if (same) continue;
    RuleDifference difference{before, std::nullopt, {}};
    if (now != nullptr) difference.in_force = *now;
    for (const RuleChange& change : changes)
      if (change.id == before.id) difference.origin = change.node.origin();
    out.push_back(std::move(difference));
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
  std::string now = "off";
  std::string before = bound_text(difference.standard);
  if (difference.in_force) {
    now = bound_text(*difference.in_force);
    if (difference.in_force->severity != difference.standard.severity) {
      const std::string severity(to_text(difference.in_force->severity));
      now = now == before ? severity : severity + " for " + now;
      before = std::string(to_text(difference.standard.severity)) +
               (now == severity ? "" : " for " + before);
    }
  }
  return difference.standard.id + ": " + now + " instead of " + before +
         (difference.origin.empty() ? "" : " (" + difference.origin + ")");
}

Json to_json(const std::vector<RuleDifference>& differences) {
  Json out = Json::array();
  for (const RuleDifference& difference : differences) {
    Json json{{"standard", to_json(std::vector<Rule>{difference.standard}).at(0)},
              {"in_force", nullptr},
              {"origin", difference.origin}};
    if (difference.in_force)
      json["in_force"] = to_json(std::vector<Rule>{*difference.in_force}).at(0);
    out.push_back(std::move(json));
  }
  return out;
}

std::vector<RuleDifference> rule_differences_from_json(const Json& json, const std::string& where) {
  const auto one_rule = [&](const Json& item) {
    return rules_from_json(Json::array({item}), where).at(0);
  };
  try {
    std::vector<RuleDifference> out;
    for (const Json& item : json) {
      RuleDifference next{one_rule(item.at("standard")), std::nullopt,
                          item.at("origin").get<std::string>()};
      if (!item.at("in_force").is_null()) next.in_force = one_rule(item.at("in_force"));
      out.push_back(std::move(next));
    }
    return out;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::config, std::string("not a list of changed rules: ") + e.what(), where);
  }
}

}  // namespace assay::catalog
