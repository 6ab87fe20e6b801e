#pragma once

#include <span>
#include <string_view>

#include "catalog/rule.h"

namespace assay::catalog {

/// Something that rules can bound besides the metrics of known_metrics(). The judge states it under
/// this name; planning checks rules against this table.
struct FactInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  RuleScope scope = RuleScope::round;
  bool diagnostic = false;  ///< may explain why a round failed; the others would only repeat it
};

[[nodiscard]] std::span<const FactInfo> known_facts();
/// nullptr: no such fact.
[[nodiscard]] const FactInfo* find_fact(std::string_view name) noexcept;

}  // namespace assay::catalog
