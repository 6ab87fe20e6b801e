#pragma once

#include "plan/make_plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// `options` as their challenge requires: only its case, with its seed. Throws Error of kind config
/// at "--challenge" when the suite is not the challenged one, lacks the case, or the case takes no
/// seed from a configuration. The suite's sweeps must be expanded.
[[nodiscard]] PlanOptions answering(const Suite& suite, const PlanOptions& options);

}  // namespace assay::plan
