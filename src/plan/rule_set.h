#pragma once

#include <string>
#include <vector>

#include "catalog/rule.h"
#include "core/json.h"
#include "plan/plan.h"

namespace assay::plan {

// plan.json holds the rules of all cases once, and for each case only the differences: {"changed":
// [rules that replace the one of that id, or are added], "without": [ids]}. Before schema version 2
// each case listed all its rules; such a list is still read, and is still written where differences
// cannot express it (rules in another order).

/// Every rule of any case, each once.
[[nodiscard]] std::vector<catalog::Rule> rule_set_of(const std::vector<CasePlan>& cases);

[[nodiscard]] Json case_rules_to_json(const std::vector<catalog::Rule>& rules,
                                      const std::vector<catalog::Rule>& set);
/// Throws Error of kind config at `where`.
[[nodiscard]] std::vector<catalog::Rule> case_rules_from_json(const Json& json,
                                                              const std::vector<catalog::Rule>& set,
                                                              const std::string& where);

}  // namespace assay::plan
