#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/round_status.h"
#include "plan/plan.h"

namespace assay::launch {

/// (case, round) → how it ended.
using RoundStatuses = std::map<std::pair<std::string, int>, RoundStatus>;

/// Why the case cannot be run because of one that it comes after: one that was skipped, or has a
/// round that counts and did not complete. Nothing: all of them completed. Pure.
[[nodiscard]] std::optional<std::string> failed_dependency(const plan::Plan& plan,
                                                           const plan::CasePlan& plan_case,
                                                           const RoundStatuses& finished,
                                                           const std::set<std::string>& skipped);

}  // namespace assay::launch
