#pragma once

#include <map>
#include <string>

#include "catalog/catalog.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Where the values of a resolved case, apart from its configuration, come from: CasePlan::origin.
/// `workload` is nullptr for a case with its own command.
[[nodiscard]] std::map<std::string, std::string> origins_of(const SuiteCase& wanted,
                                                            const Suite& suite,
                                                            const catalog::Workload* workload,
                                                            const PlanOptions& options,
                                                            const CasePlan& plan);

}  // namespace assay::plan
