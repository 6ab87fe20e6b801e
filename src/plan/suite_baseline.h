#pragma once

#include "config/node.h"
#include "plan/plan.h"

namespace assay::plan {

/// The baseline file named by a suite's `baseline:`, relative to the suite, or by --set, relative
/// to the working directory. Throws Error of kind config if it cannot be read or is wrong.
[[nodiscard]] PlanBaseline read_baseline(const config::Node& node);

}  // namespace assay::plan
