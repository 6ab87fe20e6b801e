#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::app {

/// The options of the command line that shape the plan.
struct PlanRequest {
  std::string suite = "quick";  ///< a file, or the name of one in conf/suites
  std::vector<std::string> set;
  std::vector<std::string> only;
  int repeat = 0;                        ///< 0: the suite's
  std::optional<Challenge> challenge{};  ///< to answer
};

/// Suite and catalog → plan with a new run id, every rule checked. Throws Error.
[[nodiscard]] plan::Plan make_plan(const PlanRequest& request);

}  // namespace assay::app
