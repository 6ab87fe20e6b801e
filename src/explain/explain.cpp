#include "explain/explain.h"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

#include "catalog/facts.h"
#include "catalog/metrics.h"
#include "core/text.h"
#include "explain/topic_kinds.h"

namespace assay::explain {

namespace {

std::string direction(Better better) {
  switch (better) {
    case Better::higher:
      return "Higher is better.";
    case Better::lower:
      return "Lower is better.";
    case Better::neither:
      break;
  }
  return "Neither higher nor lower is better.";
}

std::string unit_text(std::string_view unit) {
  if (unit.empty() || unit == "1") return "A number without a unit.";
  if (unit == "ratio") return "A ratio: 0.25 is 25 %.";
  return fmt::format("Measured in {}.", unit);
}

std::vector<std::string> rules_on(std::string_view fact, std::span<const catalog::Rule> rules) {
  std::vector<std::string> out;
  for (const catalog::Rule& rule : rules)
    if (rule.fact == fact) out.push_back(rule.id);
  return out;
}

void add_rules_on(Explanation& out, std::span<const catalog::Rule> rules) {
  const std::vector<std::string> judged = rules_on(out.name, rules);
  if (!judged.empty())
    out.paragraphs.push_back({"Rules on it", join(judged, ", ")});
  else
    out.paragraphs.push_back({"Rules on it", "None; a suite can bound it with a rule of its own."});
}

std::vector<Explanation> metric_topics(std::span<const catalog::Rule> rules) {
  std::vector<Explanation> out;
  for (const catalog::KnownMetric& metric : catalog::known_metrics()) {
    Explanation one{
        std::string(metric.name), "metric", std::string(metric.title), {}, "docs/metrics.md"};
    one.paragraphs.push_back({"How it is computed", std::string(metric.description)});
    one.paragraphs.push_back({"Unit", unit_text(metric.unit) + " " + direction(metric.better)});
    add_rules_on(one, rules);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Explanation> fact_topics(std::span<const catalog::Rule> rules) {
  std::vector<Explanation> out;
  for (const catalog::FactInfo& fact : catalog::known_facts()) {
    Explanation one{
        std::string(fact.name), "fact", std::string(fact.description), {}, "docs/rules.md"};
    one.paragraphs.push_back({"Unit", unit_text(fact.unit)});
    add_rules_on(one, rules);
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Explanation> everything(std::span<const catalog::Rule> rules) {
  std::vector<Explanation> all = rule_topics(rules);
  for (const auto& more :
       {finding_topics(), metric_topics(rules), fact_topics(rules), error_topics()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

// "{value} of {min} steps" without the placeholders.
std::vector<std::string> fixed_parts(std::string_view title) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from < title.size();) {
    const std::size_t open = std::min(title.find('{', from), title.size());
    if (open > from) parts.emplace_back(title.substr(from, open - from));
    from = std::min(title.find('}', open), title.size() - 1) + 1;
  }
  return parts;
}

// How many bytes of the text come from the title, in its order; 0 if it says something else.
std::size_t agreement(std::string_view text, std::string_view title) {
  std::size_t at = 0;
  std::size_t sum = 0;
  for (const std::string& part : fixed_parts(title)) {
    at = text.find(part, at);
    if (at == std::string_view::npos) return 0;
    at += part.size();
    sum += part.size();
  }
  return sum;
}

}  // namespace

std::string name_in(std::string_view text, std::span<const Topic> topics) {
  const auto is_finding = [](const Topic& topic) {
    return topic.kind == "rule" || topic.kind == "finding";
  };
  for (const Topic& topic : topics | std::views::filter(is_finding))
    if (text.find("[" + topic.name + "]") != std::string_view::npos ||
        text.find("(" + topic.name + ")") != std::string_view::npos)
      return topic.name;
  // The length of a few words, so that a match is not an accident.
  std::size_t best = 11;
  std::string name;
  std::string line;  // undoes a terminal's wrapping
  for (const char c : text)
    if (c != ' ' && c != '\n' && c != '\t')
      line += c;
    else if (!line.ends_with(' '))
      line += ' ';
  for (const Topic& topic : topics | std::views::filter(is_finding))
    if (const std::size_t now = agreement(line, topic.title); now > best) {
      best = now;
      name = topic.name;
    }
  return name;
}

std::vector<Explanation> explain(std::string_view name, std::span<const catalog::Rule> rules) {
  std::vector<Explanation> out;
  const std::string wanted = to_lower(name);
  for (Explanation& one : everything(rules))
    if (to_lower(one.name) == wanted) out.push_back(std::move(one));
  return out;
}

std::vector<Topic> topics(std::span<const catalog::Rule> rules) {
  std::vector<Topic> out;
  for (Explanation& one : everything(rules))
    out.push_back({std::move(one.name), std::move(one.kind), std::move(one.title)});
  return out;
}

}  // namespace assay::explain
