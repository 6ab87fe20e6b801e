#pragma once

#include <vector>

#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

/// The grids of the plan with the cases that are their points, and what these are compared by.
/// `cases` are the results of plan.cases, in their order. Pure.
[[nodiscard]] std::vector<SweepGrid> sweep_grids(const plan::Plan& plan,
                                                 const std::vector<CaseResult>& cases);

}  // namespace assay::judge
