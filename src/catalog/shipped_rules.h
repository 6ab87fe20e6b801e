#pragma once

#include <map>
#include <string>
#include <vector>

#include "catalog/case_settings.h"
#include "catalog/rule.h"

namespace assay::catalog {

/// The standard against which the rules in force are compared.
struct RuleStandard {
  std::vector<Rule> rules;
  std::map<std::string, std::vector<RuleChange>> changes;  ///< by the workload that makes them

  /// The rules for a case of that workload; an empty or unknown name: for any case.
  [[nodiscard]] std::vector<Rule> of(const std::string& workload) const;
};

/// The rules that this program was built with: conf/rules and the changes in conf/workloads, as
/// shipped. Differences in an installation's conf/ count like those of a suite. Read once; callable
/// from any thread.
[[nodiscard]] const RuleStandard& shipped_rules();

}  // namespace assay::catalog
