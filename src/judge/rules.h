#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "catalog/rule.h"
#include "judge/metric_set.h"
#include "judge/result.h"

namespace assay::judge {

using FactLookup = std::function<std::optional<Fact>(const std::string& name)>;

/// The findings of the rules of one scope. A rule whose fact is unknown is skipped unless it is
/// required; if several rules are violated by one fact, only the worst are findings.
/// `only_diagnostic` also skips rules that would only repeat a failure.
[[nodiscard]] std::vector<Finding> apply_rules(const std::vector<catalog::Rule>& rules,
                                               catalog::RuleScope scope, const FactLookup& lookup,
                                               const std::string& where, bool only_diagnostic);

/// The quality of a round's evidence, from the rules of scope round and their findings. `status`:
/// the evidence of a round that did not complete is incomplete.
[[nodiscard]] EvidenceState evidence_state(const std::vector<catalog::Rule>& rules,
                                           const FactLookup& lookup,
                                           const std::vector<Finding>& findings,
                                           RoundStatus status);

/// invalid if any finding is, else incomplete if any is, else valid.
[[nodiscard]] Validity verdict(const std::vector<Finding>& findings);

/// invalid is worse than incomplete, which is worse than valid.
[[nodiscard]] Validity worst(Validity a, Validity b) noexcept;

}  // namespace assay::judge
