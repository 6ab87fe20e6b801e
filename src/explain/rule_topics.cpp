#include <array>
#include <utility>

#include <fmt/format.h>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/units.h"
#include "explain/topic_kinds.h"

namespace assay::explain {

namespace {

using catalog::Aspect;
using catalog::Rule;
using catalog::Severity;

// Why a rule matters, by what it asks about.
std::string_view why(Aspect aspect) {
  switch (aspect) {
    case Aspect::completeness:
      return "Whether everything is there that a number is computed from. What is missing may have "
             "said otherwise, so a result without it cannot be defended.";
    case Aspect::integrity:
      return "Whether the evidence is what was recorded when it was measured. A file that was "
             "changed since proves nothing, whoever changed it and why.";
    case Aspect::plausibility:
      return "Whether the numbers can be true. Logs that contradict a clock, each other or what a "
             "machine can do come from a defect or from somebody who wrote them.";
    case Aspect::machine:
      return "Whether the machine was fit to be measured. A number from a machine that was busy, "
             "hot or broken is not what the machine can do, and does not come again.";
    case Aspect::result:
      break;
  }
  return "Whether it ran, long enough, and learned. A training that failed, was too short or did "
         "not reach its target has no speed worth comparing.";
}

std::string_view consequence(Severity severity) {
  switch (severity) {
    case Severity::invalid:
      return "It makes the case INVALID: the number is not the result of what was asked for.";
    case Severity::incomplete:
      return "It makes the case INCOMPLETE: something is missing before it can be judged.";
    case Severity::warning:
      return "It is a warning: the result stands, and should be read with it.";
    case Severity::note:
      break;
  }
  return "It is a note: nothing is wrong with the result, and it may explain its spread.";
}

std::string broken_when(const Rule& rule) {
  const auto number = [](double value) { return format_number(value); };
  if (rule.min && rule.max)
    return fmt::format("{} is below {} or above {}", rule.fact, number(*rule.min),
                       number(*rule.max));
  if (rule.min) return fmt::format("{} is below {}", rule.fact, number(*rule.min));
  if (rule.max) return fmt::format("{} is above {}", rule.fact, number(*rule.max));
  return fmt::format("{} is not known", rule.fact);
}

std::string bound(const Rule& rule) {
  const bool unknown_too = rule.required && (rule.min || rule.max);
  return fmt::format("It is found when {}{}.", broken_when(rule),
                     unknown_too ? ", or is not known" : "");
}

std::string fact_text(const Rule& rule) {
  if (const catalog::FactInfo* fact = catalog::find_fact(rule.fact))
    return std::string(fact->description);
  if (const catalog::KnownMetric* metric = catalog::find_known_metric(rule.fact))
    return std::string(metric->description);
  return {};
}

}  // namespace

std::vector<Explanation> rule_topics(std::span<const Rule> rules) {
  std::vector<Explanation> out;
  for (const Rule& rule : rules) {
    Explanation one{rule.id, "rule", rule.reason, {}, "docs/rules.md"};
    one.paragraphs.push_back({"What it means", bound(rule)});
    if (const std::string fact = fact_text(rule); !fact.empty())
      one.paragraphs.push_back({rule.fact, fact});
    one.paragraphs.push_back({"Why it matters", std::string(why(rule.aspect))});
    one.paragraphs.push_back({"What follows", std::string(consequence(rule.severity))});
    if (!rule.advice.empty()) one.paragraphs.push_back({"What to do", rule.advice});
    one.paragraphs.push_back(
        {"To change it",
         fmt::format("a suite or case gives it another bound under 'rules', or turns it off with "
                     "'{}: off'; the verdict then says that rules were relaxed",
                     rule.id)});
    one.paragraphs.push_back({"Where it is from", rule.origin});
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace assay::explain
