#include "plan/rule_set.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace assay::plan {

using catalog::Rule;

namespace {

bool is_same(const Rule& a, const Rule& b) {
  return catalog::to_json({a}) == catalog::to_json({b});
}

}  // namespace

std::vector<Rule> rule_set_of(const std::vector<CasePlan>& cases) {
  std::vector<Rule> set;
  for (const CasePlan& one : cases) {
    auto after = set.begin();
    for (const Rule& rule : one.rules) {
      auto same = std::ranges::find(set, rule.id, &Rule::id);
      if (same == set.end()) same = set.insert(after, rule);
      after = same + 1;
    }
  }
  return set;
}

Json case_rules_to_json(const std::vector<Rule>& rules, const std::vector<Rule>& set) {
  std::vector<Rule> changed;
  for (const Rule& rule : rules) {
    const auto same = std::ranges::find(set, rule.id, &Rule::id);
    if (same == set.end() || !is_same(*same, rule)) changed.push_back(rule);
  }
  std::vector<std::string> without;
  for (const Rule& rule : set)
    if (std::ranges::find(rules, rule.id, &Rule::id) == rules.end()) without.push_back(rule.id);
  Json out = Json::object();
  if (!changed.empty()) out["changed"] = catalog::to_json(changed);
  if (!without.empty()) out["without"] = without;
  const Json all = catalog::to_json(rules);
  return catalog::to_json(case_rules_from_json(out, set, "plan")) == all ? out : all;
}

std::vector<Rule> case_rules_from_json(const Json& json, const std::vector<Rule>& set,
                                       const std::string& where) {
  if (json.is_array()) return catalog::rules_from_json(json, where);
  if (!json.is_object()) throw Error(ErrorKind::config, "expected an object or a list", where);
  std::vector<Rule> rules = set;
  const auto of_id = [&](const std::string& id) { return std::ranges::find(rules, id, &Rule::id); };
  for (const auto& [key, value] : json.items()) {
    if ((key != "changed" && key != "without") || !value.is_array())
      throw Error(ErrorKind::config, "expected the lists 'changed' and 'without'", where);
  }
  for (const Json& id : json.value("without", Json::array())) {
    if (!id.is_string() || of_id(id.get<std::string>()) == rules.end())
      throw Error(ErrorKind::config, "not a rule of the plan: " + printable(dump_line(id)), where);
    rules.erase(of_id(id.get<std::string>()));
  }
  for (Rule& rule : catalog::rules_from_json(json.value("changed", Json::array()), where)) {
    const auto same = of_id(rule.id);
    if (same == rules.end())
      rules.push_back(std::move(rule));
    else
      *same = std::move(rule);
  }
  return rules;
}

}  // namespace assay::plan
