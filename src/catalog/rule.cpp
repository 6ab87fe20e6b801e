#include "catalog/rule.h"

#include <algorithm>
#include <cmath>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/error.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::catalog {

namespace {

void check_rule_text(const std::string& text, const Rule& rule) {
  static const std::vector<std::string> kPlaceholders{"value", "min", "max", "detail"};
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const auto close = text.find('}', at);
    const std::string name =
        close == std::string::npos ? text.substr(at + 1) : text.substr(at + 1, close - at - 1);
    if (std::ranges::find(kPlaceholders, name) == kPlaceholders.end())
      throw Error(ErrorKind::config,
                  "rule '" + rule.id + "': unknown placeholder {" + name + "}" +
                      did_you_mean(name, kPlaceholders),
                  rule.origin, "known: {value}, {min}, {max}, {detail}");
  }
}

template <class Enum>
Enum read_word(const Json& item, const char* key, const std::string& where,
               std::optional<Enum> (*parse)(std::string_view) noexcept) {
  const auto text = item.at(key).get<std::string>();
  if (const auto value = parse(text)) return *value;
  throw Error(ErrorKind::config, std::string("'") + key + "' is '" + printable(text) + "'", where);
}

}  // namespace

std::string_view to_string(RuleScope scope) noexcept {
  return scope == RuleScope::round ? "round" : "case";
}

std::optional<RuleScope> parse_scope(std::string_view text) noexcept {
  for (const RuleScope scope : {RuleScope::round, RuleScope::whole_case})
    if (text == to_string(scope)) return scope;
  return std::nullopt;
}

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::incomplete:
      return "incomplete";
    case Severity::invalid:
      break;
  }
  return "invalid";
}

std::optional<Severity> parse_severity(std::string_view text) noexcept {
  for (const Severity severity :
       {Severity::note, Severity::warning, Severity::incomplete, Severity::invalid})
    if (text == to_string(severity)) return severity;
  return std::nullopt;
}

Json to_json(const std::vector<Rule>& rules) {
  Json out = Json::array();
  for (const Rule& rule : rules) {
    Json json{{"id", rule.id}, {"scope", to_string(rule.scope)}, {"fact", rule.fact}};
    if (rule.min) json["min"] = *rule.min;
    if (rule.max) json["max"] = *rule.max;
    json["required"] = rule.required;
    json["severity"] = to_string(rule.severity);
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
      rule.scope = read_word(item, "scope", where, parse_scope);
      rule.fact = item.at("fact").get<std::string>();
      if (item.contains("min")) rule.min = item.at("min").get<double>();
      if (item.contains("max")) rule.max = item.at("max").get<double>();
      rule.required = item.at("required").get<bool>();
      rule.severity = read_word(item, "severity", where, parse_severity);
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

std::vector<std::string> metric_names(std::span<const std::string> own_metrics) {
  std::vector<std::string> names(own_metrics.begin(), own_metrics.end());
  for (const KnownMetric& metric : known_metrics()) names.push_back(metric.info.name);
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
      const std::string scope(to_string(fact->scope));
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
