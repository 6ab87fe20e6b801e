#include "catalog/rule.h"

#include "core/error.h"

namespace assay::catalog {

Json to_json(const std::vector<Rule>& rules) {
  Json out = Json::array();
  for (const Rule& rule : rules) {
    Json json{{"id", rule.id}, {"scope", rule.scope}, {"fact", rule.fact}};
    if (rule.min) json["min"] = *rule.min;
    if (rule.max) json["max"] = *rule.max;
    json["required"] = rule.required;
    json["severity"] = rule.severity;
    json["reason"] = rule.reason;
    json["advice"] = rule.advice;
    json["origin"] = rule.origin;
    out.push_back(std::move(json));
  }
  return out;
}

std::vector<Rule> rules_from_json(const Json& json, const std::string& where) {
  try {
    std::vector<Rule> rules;
    for (const Json& item : json) {
      Rule rule;
      rule.id = item.at("id").get<std::string>();
      rule.scope = item.at("scope").get<std::string>();
      rule.fact = item.at("fact").get<std::string>();
      if (item.contains("min")) rule.min = item.at("min").get<double>();
      if (item.contains("max")) rule.max = item.at("max").get<double>();
      rule.required = item.at("required").get<bool>();
      rule.severity = item.at("severity").get<std::string>();
      rule.reason = item.at("reason").get<std::string>();
      rule.advice = item.at("advice").get<std::string>();
      rule.origin = item.at("origin").get<std::string>();
      rules.push_back(std::move(rule));
    }
    return rules;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::config, std::string("not a list of rules: ") + e.what(), where);
  }
}

}  // namespace assay::catalog
