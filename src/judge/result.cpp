#include "judge/result.h"

#include <algorithm>

namespace assay::judge {

std::string_view to_string(Validity validity) noexcept {
  return to_text(validity);
}

bool CaseResult::relaxed() const {
  return rule_changes && std::ranges::any_of(*rule_changes, &catalog::RuleDifference::relaxed);
}

}  // namespace assay::judge
