#pragma once

#include "catalog/catalog.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// The configuration of a case: of a workload its defaults, what it says for this vendor, hardware
/// and size, and what the case says, each stronger than the one before; without a workload
/// (nullptr) what the case says. Throws Error of kind config for an unknown key, a value of another
/// type, and a change of what the workload has fixed.
void resolve_config(const SuiteCase& wanted, const catalog::Workload* workload,
                    const std::string& vendor, CasePlan& plan);

}  // namespace assay::plan
