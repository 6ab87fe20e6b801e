#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::catalog {

/// A validity rule as data, from conf/rules/*.yaml with a case's overrides: a bound on a fact.
/// A fact is any metric of a round or case, or one of judge::fact_catalogue().
struct Rule {
  std::string id;                    ///< "min-steps"
  std::string scope = "round";       ///< "round" or "case"
  std::string fact;                  ///< "steps", "ranks_failed", "nonfinite_losses", "cv" …
  std::optional<double> min;         ///< violated when the fact is below it
  std::optional<double> max;         ///< violated when the fact is above it
  bool required = false;             ///< a fact that is not known violates the rule too
  std::string severity = "invalid";  ///< "invalid", "incomplete", "warning" or "note"
  std::string reason;                ///< with {value}, {min}, {max}, {detail}
  std::string advice;
  std::string origin;  ///< "conf/rules/default.yaml:12"
};

[[nodiscard]] Json to_json(const std::vector<Rule>& rules);
[[nodiscard]] std::vector<Rule> rules_from_json(const Json& json, const std::string& where);

}  // namespace assay::catalog
