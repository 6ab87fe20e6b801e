#pragma once

#include "catalog/catalog.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Resolves a case's configuration. With a workload: its defaults, its settings for this vendor,
/// hardware and size, and the case's own settings, each overriding the previous ones; without one
/// (nullptr): the case's settings. Throws Error of kind config for an unknown key, a value of
/// another type, and a change of what the workload has fixed.
void resolve_config(const SuiteCase& wanted, const catalog::Workload* workload,
                    const std::string& vendor, CasePlan& plan);

}  // namespace assay::plan
