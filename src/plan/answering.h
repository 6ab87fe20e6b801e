#pragma once

#include "plan/make_plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// `options` with what their challenge asks for: its case alone, with its seed. Throws Error of
/// kind config at "--challenge" when the suite is not the one that was challenged, has no such
/// case, or the case takes no seed from a configuration. The suite's sweeps are expanded.
[[nodiscard]] PlanOptions answering(const Suite& suite, const PlanOptions& options);

}  // namespace assay::plan
