#pragma once

#include "catalog/catalog.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Finds out whether the values of `plan.config` have a way to the program, and sets
/// `plan.config_use`. What the plan says is what runs: a value without a way throws Error of kind
/// config where it was given. `workload` is nullptr for a case with a command of its own.
void resolve_config_use(const SuiteCase& wanted, const catalog::Workload* workload,
                        const Cluster& cluster, CasePlan& plan);

}  // namespace assay::plan
