#include "catalog/rule.h"

#include <algorithm>
#include <cmath>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"
#include "core/json_error.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::catalog {

namespace {

void check_rule_text(const std::string& text, const Rule& rule) {
  static const std::vector<std::string> kPlaceholders{"value", "min", "max", "detail"};
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const auto close = text.find('}', at);
    const std::string inside =
        close == std::string::npos ? text.substr(at + 1) : text.substr(at + 1, close - at - 1);
    const auto colon = inside.find(':');
    const std::string name = inside.substr(0, colon);
    if (colon != std::string::npos && (name == "detail" || std::ranges::count(inside, '|') != 1))
      throw Error(ErrorKind::config,
                  "rule '" + rule.id + "': '{" + inside + "}' is not a number with its noun",
                  rule.origin, "write {value:step|steps}");
    if (std::ranges::find(kPlaceholders, name) == kPlaceholders.end())
      throw Error(ErrorKind::config,
                  "rule '" + rule.id + "': unknown placeholder {" + name + "}" +
                      did_you_mean(name, kPlaceholders),
                  rule.origin, "known: {value}, {value:one|many}, {min}, {max}, {detail}");
  }
}

template <NamedEnum E>
E read_word(const Json& item, const char* key, const std::string& where) {
  const auto text = item.at(key).get<std::string>();
  if (const auto value = parse_enum<E>(text)) return *value;
  throw Error(ErrorKind::config, std::string("'") + key + "' is '" + printable(text) + "'", where,
              "it is " + enum_choices<E>());
}

}  // namespace

Json to_json(const std::vector<Rule>& rules) {
  Json out = Json::array();
  for (const Rule& rule : rules) {
    Json json{{"id", rule.id}, {"scope", to_text(rule.scope)}, {"fact", rule.fact}};
    if (rule.min) json["min"] = *rule.min;
    if (rule.max) json["max"] = *rule.max;
    json["required"] = rule.required;
    if (!rule.absent.empty()) json["absent"] = rule.absent;
    json["aspect"] = to_text(rule.aspect);
    json["severity"] = to_text(rule.severity);
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
      rule.scope = read_word<RuleScope>(item, "scope", where);
      rule.fact = item.at("fact").get<std::string>();
      if (item.contains("min")) rule.min = item.at("min").get<double>();
      if (item.contains("max")) rule.max = item.at("max").get<double>();
      rule.required = item.at("required").get<bool>();
      if (item.contains("absent")) rule.absent = item.at("absent").get<std::string>();
      // Missing in plans of version 0.1.
      if (item.contains("aspect")) rule.aspect = read_word<Aspect>(item, "aspect", where);
      rule.severity = read_word<Severity>(item, "severity", where);
      rule.reason = item.at("reason").get<std::string>();
      rule.advice = item.at("advice").get<std::string>();
      rule.origin = item.at("origin").get<std::string>();
      rules.push_back(std::move(rule));
    }
    return rules;
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::config, "not a list of rules: " + plain_error(e), where);
  }
}

std::vector<std::string> metric_names(std::span<const std::string> own_metrics) {
  std::vector<std::string> names(own_metrics.begin(), own_metrics.end());
  for (const KnownMetric& metric : known_metrics()) names.emplace_back(metric.name);
  return names;
}

bool is_metric(std::string_view name, std::span<const std::string> own_metrics) {
  return find_known_metric(name) != nullptr || find_metric_family(name) != nullptr ||
         std::ranges::find(own_metrics, name) != own_metrics.end();
}

void check_rules(std::span<const Rule> rules, std::span<const std::string> own_metrics) {
  for (const Rule& rule : rules) {
    const auto fail = [&](const std::string& what, const std::string& advice) {
      throw Error(ErrorKind::config, "rule '" + rule.id + "': " + what, rule.origin, advice);
    };
    const FactInfo* fact = find_fact(rule.fact);
    if (fact == nullptr && !is_metric(rule.fact, own_metrics)) {
      std::vector<std::string> names = metric_names(own_metrics);
      for (const FactInfo& known : known_facts()) names.emplace_back(known.name);
      fail("unknown fact '" + rule.fact + "'" + did_you_mean(rule.fact, names),
           "'assay list rules' and 'assay list metrics' name what a rule can bound");
    }
    if (fact != nullptr && fact->scope != rule.scope) {
      const std::string scope(to_text(fact->scope));
      fail("'" + rule.fact + "' is a fact of a " + scope, "set scope: " + scope);
    }
    if (!rule.min && !rule.max && !rule.required)
      fail("it bounds nothing", "give min, max or required: true");
    if ((rule.min && !std::isfinite(*rule.min)) || (rule.max && !std::isfinite(*rule.max)))
      fail("a bound is not a finite number", "leave out a bound that does not matter");
    if (rule.min && rule.max && *rule.min > *rule.max)
      fail("min " + format_number(*rule.min) + " is above max " + format_number(*rule.max),
           "swap them");
    check_rule_text(rule.reason, rule);
    check_rule_text(rule.advice, rule);
  }
}

}  // namespace assay::catalog
