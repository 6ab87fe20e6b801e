#pragma once

#include <vector>

#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// The plan's grids with the cases that are their points, and the metric for comparing them.
/// `cases` are the results of plan.cases, in their order. Pure.
[[nodiscard]] std::vector<SweepGrid> sweep_grids(const plan::Plan& plan,
                                                 const std::vector<CaseResult>& cases);

}  // namespace assay::judge
