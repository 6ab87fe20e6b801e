#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/case_settings.h"
#include "catalog/rule.h"

namespace assay::catalog {

/// The standard that rules in force are compared with.
struct RuleStandard {
  std::vector<Rule> rules;
  std::map<std::string, std::vector<RuleChange>> changes;  ///< by the workload that makes them

  /// The rules for a case of that workload; an empty name, or one that is not known: for any case.
  [[nodiscard]] std::vector<Rule> of(const std::string& workload) const;
};

/// The rules that this program was built with: conf/rules and the changes of conf/workloads, as
/// shipped. An installation's own conf/ may differ; that is a difference like a
/// suite's. Read once, from any thread.
[[nodiscard]] const RuleStandard& shipped_rules();

}  // namespace assay::catalog
