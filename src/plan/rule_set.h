#pragma once

#include <string>
#include <vector>

#include "catalog/rule.h"
#include "core/json.h"
#include "plan/plan.h"

namespace assay::plan {

// plan.json has the rules of all cases once, and of each case only how its own differ:
// {"changed": [rules of that id instead, or added], "without": [ids]}. Before schema version 2 each
// case had a list of all its rules; such a list is still read, and written where differences cannot
// say it (rules in another order).

/// Every rule of any case, once.
[[nodiscard]] std::vector<catalog::Rule> rule_set_of(const std::vector<CasePlan>& cases);

[[nodiscard]] Json case_rules_to_json(const std::vector<catalog::Rule>& rules,
                                      const std::vector<catalog::Rule>& set);
/// Throws Error of kind config at `where`.
[[nodiscard]] std::vector<catalog::Rule> case_rules_from_json(const Json& json,
                                                              const std::vector<catalog::Rule>& set,
                                                              const std::string& where);

}  // namespace assay::plan
