#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/rule.h"
#include "catalog/settings.h"

namespace assay::catalog {

/// A rule that a case does not take as it is installed.
struct RuleDifference {
  Rule standard;                 ///< as conf/ has it, with what the case's workload changes
  std::optional<Rule> in_force;  ///< nothing: switched off
  std::string origin;            ///< who asked for it: "quick.yaml:12", "--set rules.x=off"

  /// Whether something passes now that would not have: it is off, a bound is wider or gone, the
  /// fact may be unknown, or the severity is lower.
  [[nodiscard]] bool relaxed() const;
};

/// How `in_force` differs from `standard`; `changes` are what was asked for, weakest first.
[[nodiscard]] std::vector<RuleDifference> rule_differences(const std::vector<Rule>& standard,
                                                           const std::vector<Rule>& in_force,
                                                           const std::vector<RuleChange>& changes);

/// "at most 5 %", "at least 10 steps", "0 to 1", with ", must be known" where it is required. For
/// people.
[[nodiscard]] std::string bound_text(const Rule& rule);
/// "repeat-spread: at most 20 % instead of at most 5 % (quick.yaml:12)".
[[nodiscard]] std::string difference_text(const RuleDifference& difference);

[[nodiscard]] Json to_json(const std::vector<RuleDifference>& differences);
/// Throws Error of kind config at `where`.
[[nodiscard]] std::vector<RuleDifference> rule_differences_from_json(const Json& json,
                                                                     const std::string& where);

}  // namespace assay::catalog
