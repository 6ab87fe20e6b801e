#pragma once

#include <vector>

#include "core/json.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Checks that the machines are those that the plan names: devices of another kind than `hardware`
/// (which decides what they can reach), two names for one machine, hosts that were left out.
/// `system` is system.json, `events` the journal.
[[nodiscard]] std::vector<Finding> cluster_findings(const plan::Plan& plan, const Json& system,
                                                    const std::vector<Json>& events);

}  // namespace assay::judge
