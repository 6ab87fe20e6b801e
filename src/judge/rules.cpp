#include "judge/rules.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "catalog/facts.h"
#include "core/units.h"

namespace assay::judge {

namespace {

std::string fill(std::string text, const catalog::Rule& rule, const Fact& fact) {
  const auto replace = [&](std::string_view name, const std::string& value) {
    const std::string token = "{" + std::string(name) + "}";
    for (auto at = text.find(token); at != std::string::npos; at = text.find(token, at)) {
      text.replace(at, token.size(), value);
      at += value.size();
    }
    // {value:step|steps} stands for the number with the matching noun.
    const std::string counted = "{" + std::string(name) + ":";
    for (auto at = text.find(counted); at != std::string::npos; at = text.find(counted, at)) {
      const auto bar = text.find('|', at);
      const auto close = text.find('}', at);
      if (bar == std::string::npos || close == std::string::npos || bar > close) break;
      const auto begin = value == "1" ? at + counted.size() : bar + 1;
      const auto noun = text.substr(begin, (value == "1" ? bar : close) - begin);
      text.replace(at, close + 1 - at, value + " " + noun);
      at += value.size();
    }
  };
  replace("value", format_number(fact.value));
  replace("min", rule.min ? format_number(*rule.min) : "–");
  replace("max", rule.max ? format_number(*rule.max) : "–");
  // Avoids leaving empty brackets for an unknown detail.
  if (fact.detail.empty()) {
    for (const std::string_view empty : {" ({detail})", ": {detail}", ", {detail}", " {detail}"})
      if (const auto at = text.find(empty); at != std::string::npos) text.erase(at, empty.size());
  }
  replace("detail", fact.detail);
  return text;
}

// Two bounds on one fact, such as a note and then more, make one finding: the worse.
void keep_the_worst(std::vector<Finding>& findings, const std::vector<catalog::Rule>& rules) {
  const auto fact_of = [&](const Finding& finding) -> const std::string& {
    return std::ranges::find(rules, finding.rule, &catalog::Rule::id)->fact;
  };
  std::map<std::string, Severity> worst;
  for (const Finding& finding : findings) {
    const auto known = worst.try_emplace(fact_of(finding), finding.severity).first;
    known->second = std::max(known->second, finding.severity);
  }
  std::erase_if(findings,
                [&](const Finding& finding) { return finding.severity < worst[fact_of(finding)]; });
}

bool known(const std::optional<Fact>& fact) {
  return fact && std::isfinite(fact->value);
}

std::string absence(const catalog::Rule& rule) {
  return rule.absent.empty() ? "'" + rule.fact + "' is required and there is no evidence for it"
                             : rule.absent;
}

AspectState aspect_state(Aspect aspect, std::string_view fine,
                         const std::vector<catalog::Rule>& rules, const FactLookup& lookup,
                         const std::vector<Finding>& findings) {
  int asked = 0;
  std::string absent;
  const Finding* worst_one = nullptr;
  for (const catalog::Rule& rule : rules) {
    if (rule.scope != catalog::RuleScope::round || rule.aspect != aspect) continue;
    const auto found = std::ranges::find(findings, rule.id, &Finding::rule);
    if (!known(lookup(rule.fact))) {
      if (rule.required && absent.empty()) absent = absence(rule);
      continue;
    }
    ++asked;
    // Relaxing a rule of integrity changes the verdict, but does not make evidence intact.
    if (found == findings.end() ||
        (found->severity < Severity::warning && aspect != Aspect::integrity))
      continue;
    if (worst_one == nullptr || found->severity > worst_one->severity) worst_one = &*found;
  }
  if (worst_one != nullptr) return {Soundness::flawed, worst_one->reason};
  if (!absent.empty()) return {Soundness::unknown, absent};
  if (asked == 0) return {Soundness::unknown, "no rule could be applied"};
  return {Soundness::ok,
          fmt::format("{} ({} {})", fine, asked, asked == 1 ? "rule holds" : "rules hold")};
}

}  // namespace

std::vector<Finding> apply_rules(const std::vector<catalog::Rule>& rules, catalog::RuleScope scope,
                                 const FactLookup& lookup, const std::string& where,
                                 bool only_diagnostic) {
  std::vector<Finding> findings;
  for (const catalog::Rule& rule : rules) {
    if (rule.scope != scope) continue;
    const catalog::FactInfo* info = catalog::find_fact(rule.fact);
    if (only_diagnostic && (info == nullptr || !info->diagnostic)) continue;
    const std::optional<Fact> fact = lookup(rule.fact);
    if (!known(fact)) {
      if (rule.required)
        findings.push_back({rule.id,
                            rule.severity,
                            absence(rule),
                            rule.advice.empty()
                                ? "let the workload report it, or drop this requirement"
                                : fill(rule.advice, rule, {0, "unknown"}),
                            where,
                            {},
                            rule.aspect});
      continue;
    }
    const bool below = rule.min && fact->value < *rule.min;
    const bool above = rule.max && fact->value > *rule.max;
    if (!below && !above) continue;
    std::string reason =
        rule.reason.empty()
            ? rule.fact + " is {value}, " + (below ? "below {min}" : "above {max}") + " ({detail})"
            : rule.reason;
    findings.push_back({rule.id,
                        rule.severity,
                        fill(std::move(reason), rule, *fact),
                        fill(rule.advice, rule, *fact),
                        where,
                        {},
                        rule.aspect});
  }
  keep_the_worst(findings, rules);
  return findings;
}

EvidenceState evidence_state(const std::vector<catalog::Rule>& rules, const FactLookup& lookup,
                             const std::vector<Finding>& findings, RoundStatus status) {
  if (status == RoundStatus::not_run) {
    const AspectState unknown{Soundness::unknown, "the round was not run"};
    return {unknown, unknown, unknown};
  }
  EvidenceState state{
      aspect_state(Aspect::completeness, "everything is there", rules, lookup, findings),
      aspect_state(Aspect::integrity, "as it was recorded", rules, lookup, findings),
      aspect_state(Aspect::plausibility, "nothing contradicts itself", rules, lookup, findings)};
  if (status != RoundStatus::completed && state.completeness.state != Soundness::flawed)
    state.completeness = {Soundness::flawed, "the round did not complete"};
  return state;
}

Validity verdict(const std::vector<Finding>& findings) {
  Validity result = Validity::valid;
  for (const Finding& finding : findings) {
    if (finding.severity == Severity::invalid) result = worst(result, Validity::invalid);
    if (finding.severity == Severity::incomplete) result = worst(result, Validity::incomplete);
  }
  return result;
}

Validity worst(Validity a, Validity b) noexcept {
  const auto badness = [](Validity v) {
    return v == Validity::invalid ? 2 : v == Validity::incomplete ? 1 : 0;
  };
  return badness(a) >= badness(b) ? a : b;
}

}  // namespace assay::judge
