#pragma once

#include "catalog/catalog.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Determines whether the values of `plan.config` reach the program, and sets `plan.config_use`.
/// The plan must describe what really runs, so a value that cannot reach it throws Error of kind
/// config at the place where it was given. `workload` is nullptr for a case with its own command.
void resolve_config_use(const SuiteCase& wanted, const catalog::Workload* workload,
                        const Cluster& cluster, CasePlan& plan);

}  // namespace assay::plan
