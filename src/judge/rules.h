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

/// The findings of the rules of one scope. A rule whose fact is not known is skipped unless it
/// is required; of several that one fact violates, only the worst are findings. With
/// `only_diagnostic`, rules that would only repeat a failure are passed over too.
[[nodiscard]] std::vector<Finding> apply_rules(const std::vector<catalog::Rule>& rules,
                                               catalog::RuleScope scope, const FactLookup& lookup,
                                               const std::string& where, bool only_diagnostic);

/// How good the evidence of a round is, from the rules of scope round that were applied to it and
/// what they found. `status`: a round that did not complete is not complete evidence.
[[nodiscard]] EvidenceState evidence_state(const std::vector<catalog::Rule>& rules,
                                           const FactLookup& lookup,
                                           const std::vector<Finding>& findings,
                                           RoundStatus status);

/// invalid when a finding is, else incomplete when one is, else valid.
[[nodiscard]] Validity verdict(const std::vector<Finding>& findings);

/// invalid before incomplete before valid.
[[nodiscard]] Validity worst(Validity a, Validity b) noexcept;

}  // namespace assay::judge
