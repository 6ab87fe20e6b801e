#pragma once

#include <span>
#include <vector>

#include "catalog/rule.h"
#include "explain/explain.h"

namespace assay::explain {

// Each function returns all topics of its kinds.

[[nodiscard]] std::vector<Explanation> rule_topics(std::span<const catalog::Rule> rules);
/// Findings that do not come from a rule.
[[nodiscard]] std::vector<Explanation> finding_topics();
/// Kinds of errors, exit codes, verdicts and severities.
[[nodiscard]] std::vector<Explanation> error_topics();

}  // namespace assay::explain
