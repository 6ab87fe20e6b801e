#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/case_settings.h"
#include "catalog/rule.h"

namespace assay::catalog {

/// A rule that a case does not take as it was shipped.
struct RuleDifference {
  /// The rule of shipped_rules(), with the changes of the case's workload; nothing: it was added.
  std::optional<Rule> standard;
  std::optional<Rule> in_force;  ///< nothing: switched off; not so when `standard` is nothing too
  std::string origin;            ///< who asked for it: "quick.yaml:12", "--set rules.x=off"

  [[nodiscard]] const std::string& id() const { return standard ? standard->id : in_force->id; }
  /// Whether something passes now that would not have: it is off, a bound is wider or gone, the
  /// fact may be unknown, the severity is lower, or the rule asks about something else.
  [[nodiscard]] bool relaxed() const;
};

/// How `in_force` differs from `standard`. `changes` are what was asked for, weakest first; what
/// none of them did is a difference of the installation's conf/.
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
