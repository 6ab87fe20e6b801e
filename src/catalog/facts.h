#pragma once

#include <span>
#include <string_view>

#include "catalog/rule.h"

namespace assay::catalog {

/// A value, other than known_metrics(), that rules can bound. The judge states it under this name;
/// planning checks rules against this table.
struct FactInfo {
  std::string_view name;
  std::string_view unit;
  std::string_view description;
  RuleScope scope = RuleScope::round;
  bool diagnostic = false;  ///< may explain a round's failure; others only repeat it
};

[[nodiscard]] std::span<const FactInfo> known_facts();
/// Returns nullptr for an unknown fact.
[[nodiscard]] const FactInfo* find_fact(std::string_view name) noexcept;

}  // namespace assay::catalog
