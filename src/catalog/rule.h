#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/enum_names.h"
#include "core/json.h"

namespace assay::catalog {

/// Whether a rule checks each round separately or the case over its rounds.
enum class RuleScope { round, whole_case };

constexpr auto enum_names(RuleScope /*scope*/) {
  using enum RuleScope;
  return std::to_array<EnumName<RuleScope>>({{round, "round"}, {whole_case, "case"}});
}

/// The severity of a finding, from harmless to worst.
enum class Severity { note, warning, incomplete, invalid };

constexpr auto enum_names(Severity /*severity*/) {
  using enum Severity;
  return std::to_array<EnumName<Severity>>(
      {{invalid, "invalid"}, {incomplete, "incomplete"}, {warning, "warning"}, {note, "note"}});
}

/// The question a rule asks. The judge answers the first three about the evidence of every round
/// (judge::EvidenceState); the others concern what was measured.
enum class Aspect {
  completeness,  ///< is everything there that should be?
  integrity,     ///< is it unchanged since it was recorded?
  plausibility,  ///< can it be true?
  machine,       ///< was the machine fit for measuring?
  result,        ///< did it run long enough, and learn?
};

constexpr auto enum_names(Aspect /*aspect*/) {
  using enum Aspect;
  return std::to_array<EnumName<Aspect>>({{completeness, "completeness"},
                                          {integrity, "integrity"},
                                          {plausibility, "plausibility"},
                                          {machine, "machine"},
                                          {result, "result"}});
}

/// A validity rule as data, from conf/rules/*.yaml with a case's overrides: a bound on a fact,
/// which is one of known_facts() or any metric of a round or case.
struct Rule {
  std::string id;                      ///< "min-steps"
  RuleScope scope = RuleScope::round;  ///< for a case, a metric is the median over rounds
  std::string fact;                    ///< "steps", "ranks_failed", "nonfinite_losses", "cv" …
  std::optional<double> min;           ///< violated when the fact is below it
  std::optional<double> max;           ///< violated when the fact is above it
  bool required = false;               ///< an unknown fact violates the rule too
  std::string absent{};                ///< the reason in that case; empty: a general one
  Aspect aspect = Aspect::result;
  Severity severity = Severity::invalid;
  std::string reason;  ///< with {value}, {min}, {max}, {detail}
  std::string advice;
  std::string origin;  ///< "conf/rules/default.yaml:12"
};

[[nodiscard]] Json to_json(const std::vector<Rule>& rules);
[[nodiscard]] std::vector<Rule> rules_from_json(const Json& json, const std::string& where);

/// Throws Error of kind config at the rule's origin for a rule that can never work: an unknown fact
/// (suggesting the nearest), a fact of the other scope, an unknown placeholder, no bound, or bounds
/// that exclude each other. `own_metrics` are the names of the case's output metrics.
void check_rules(std::span<const Rule> rules, std::span<const std::string> own_metrics = {});

/// Whether a case can have a metric of that name: a known metric, one of a family, or its own.
[[nodiscard]] bool is_metric(std::string_view name, std::span<const std::string> own_metrics);

/// The known metrics and the case's own, for messages.
[[nodiscard]] std::vector<std::string> metric_names(std::span<const std::string> own_metrics);

}  // namespace assay::catalog
