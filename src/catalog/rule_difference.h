#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/case_settings.h"
#include "catalog/rule.h"

namespace assay::catalog {

/// A rule that a case uses differently from how it was shipped.
struct RuleDifference {
  /// The rule from shipped_rules(), with the changes of the case's workload; nothing: it was added.
  std::optional<Rule> standard;
  std::optional<Rule> in_force;  ///< nothing: switched off; set if `standard` is not
  std::string origin;            ///< of the change: "quick.yaml:12", "--set rules.x=off"

  [[nodiscard]] const std::string& id() const { return standard ? standard->id : in_force->id; }
  /// Whether something passes now that would have failed: the rule is off, a bound is wider or
  /// gone, the fact may be unknown, the severity is lower, or it asks about something else.
  [[nodiscard]] bool relaxed() const;
};

/// How `in_force` differs from `standard`. `changes` are the requested changes, weakest first; a
/// difference that none of them explains comes from the installation's conf/.
[[nodiscard]] std::vector<RuleDifference> rule_differences(const std::vector<Rule>& standard,
                                                           const std::vector<Rule>& in_force,
                                                           const std::vector<RuleChange>& changes);

/// For people: "at most 5 %", "at least 10 steps", "0 to 1", with ", must be known" for a required
/// rule.
[[nodiscard]] std::string bound_text(const Rule& rule);
/// "repeat-spread: at most 20 % instead of at most 5 % (quick.yaml:12)".
[[nodiscard]] std::string difference_text(const RuleDifference& difference);

[[nodiscard]] Json to_json(const std::vector<RuleDifference>& differences);
/// Throws Error of kind config at `where`.
[[nodiscard]] std::vector<RuleDifference> rule_differences_from_json(const Json& json,
                                                                     const std::string& where);

}  // namespace assay::catalog
