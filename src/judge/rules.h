#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "catalog/rule.h"
#include "judge/metric_set.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Something that rules can bound besides the metrics of metric_catalogue().
struct FactInfo {
  std::string name;
  std::string unit;
  std::string description;
  std::string scope;        ///< "round" or "case"
  bool diagnostic = false;  ///< may explain why a round failed; the others would only repeat it
};
[[nodiscard]] const std::vector<FactInfo>& fact_catalogue();

/// Throws Error of kind config at the rule's origin for a rule that can never work: an unknown fact
/// (with the nearest known one), scope, severity or placeholder, no bound, or bounds that exclude
/// each other. `own_metrics`: names of the case's output metrics.
void check_rules(const std::vector<catalog::Rule>& rules,
                 std::span<const std::string> own_metrics = {});

/// The same for the rules in force in a case, which may bound its own output metrics.
void check_rules(const plan::CasePlan& plan_case);

using FactLookup = std::function<std::optional<Fact>(const std::string& name)>;

/// The findings of the rules of one scope. A rule whose fact is not known is passed over unless it
/// is required. With `only_diagnostic`, rules that would only repeat a failure are passed over too.
[[nodiscard]] std::vector<Finding> apply_rules(const std::vector<catalog::Rule>& rules,
                                               const std::string& scope, const FactLookup& lookup,
                                               const std::string& where, bool only_diagnostic);

/// invalid when a finding is, else incomplete when one is, else valid.
[[nodiscard]] Validity verdict(const std::vector<Finding>& findings);

/// invalid before incomplete before valid.
[[nodiscard]] Validity worst(Validity a, Validity b) noexcept;

}  // namespace assay::judge
