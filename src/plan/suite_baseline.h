#pragma once

#include "config/node.h"
#include "plan/plan.h"

namespace assay::plan {

/// The baseline file that `baseline:` of a suite names, relative to the suite; one that --set
/// names, to the working directory. Throws Error of kind config for one that cannot be read or is
/// wrong.
[[nodiscard]] PlanBaseline read_baseline(const config::Node& node);

}  // namespace assay::plan
