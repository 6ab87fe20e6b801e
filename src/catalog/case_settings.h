#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/rule.h"
#include "config/mapping.h"
#include "core/metric.h"
#include "core/time.h"

namespace assay::catalog {

// Settings that a workload, a suite's defaults and a case may all give. The stronger one wins for
// each value separately; values that nobody gave stay empty.

struct LimitSettings {
  std::optional<Nanoseconds> time;
  std::optional<Nanoseconds> stall;  ///< 0: off
  std::optional<Nanoseconds> grace;
  std::optional<std::uint64_t> output_bytes;
};

/// A change to a rule of conf/rules: `min-steps: {min: 5}`, `min-duration: off`.
struct RuleChange {
  std::string id;
  std::optional<bool> enabled;
  std::optional<double> min;
  std::optional<double> max;
  std::optional<bool> required;
  std::optional<Severity> severity;
  config::Node node;  ///< where it was requested
};

struct TargetSetting {
  std::string metric;
  double value = 0;
  Better better = Better::higher;
};

[[nodiscard]] const std::vector<std::string>& limit_keys();
[[nodiscard]] const std::vector<std::string>& rule_change_keys();
[[nodiscard]] const std::vector<std::string>& target_keys();
[[nodiscard]] const std::vector<std::string>& launch_modes();

[[nodiscard]] LimitSettings read_limits(const config::Node& node);
[[nodiscard]] std::vector<RuleChange> read_rule_changes(const config::Node& node);
[[nodiscard]] TargetSetting read_target(const config::Node& node);
/// At least 1 and at most 10⁹ steps, or 0.
[[nodiscard]] int read_warmup_steps(const config::Node& node);

/// Overrides `base` with every value that `stronger` gives.
void overlay(LimitSettings& base, const LimitSettings& stronger);

/// `rules` with the changes applied, weakest first, and without those that end up switched off. An
/// unknown id throws at the change and suggests the nearest known id.
[[nodiscard]] std::vector<Rule> resolve_rules(std::vector<Rule> rules,
                                              const std::vector<RuleChange>& changes);

}  // namespace assay::catalog
