#pragma once

#include <map>
#include <string>

#include "catalog/catalog.h"
#include "plan/make_plan.h"
#include "plan/plan.h"
#include "plan/suite.h"

namespace assay::plan {

/// Who decided the values of a resolved case besides its configuration: CasePlan::origin.
/// `workload` is nullptr for a case with a command of its own.
[[nodiscard]] std::map<std::string, std::string> origins_of(const SuiteCase& wanted,
                                                            const Suite& suite,
                                                            const catalog::Workload* workload,
                                                            const PlanOptions& options,
                                                            const CasePlan& plan);

}  // namespace assay::plan
