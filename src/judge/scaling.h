#pragma once

#include <vector>

#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// Adds `scaling_efficiency` to every case that runs the same workload as a smaller case of the
/// run: its throughput per rank divided by that of the smallest one, using medians over rounds.
/// `cases` are the results of plan.cases, in their order.
void add_scaling(const plan::Plan& plan, std::vector<CaseResult>& cases);

}  // namespace assay::judge
