#include "catalog/shipped_rules.h"

#include <filesystem>

#include "catalog/catalog.h"
#include "config/yaml.h"
#include "shipped_texts.h"

namespace assay::catalog {

namespace {

RuleStandard read_shipped() {
  RuleStandard out;
  for (const auto& [name, text] : kShippedTexts) {
    const std::string display = "conf/" + std::string(name);
    const config::Node node = config::parse_yaml(text, {display, display, false});
    if (name.starts_with("rules/")) {
      for (Rule& rule : read_rules(node)) out.rules.push_back(std::move(rule));
    } else if (const config::Node* rules = node.find("rules")) {
      out.changes[std::filesystem::path(name).stem().string()] = read_rule_changes(*rules);
    }
  }
  return out;
}

}  // namespace

std::vector<Rule> RuleStandard::of(const std::string& workload) const {
  const auto found = changes.find(workload);
  return found == changes.end() ? rules : resolve_rules(rules, found->second);
}

const RuleStandard& shipped_rules() {
  static const RuleStandard kShipped = read_shipped();
  return kShipped;
}

}  // namespace assay::catalog
