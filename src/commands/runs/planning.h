#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::commands {

/// The options of the command line that shape the plan.
struct PlanRequest {
  /// A file, or the name of one in conf/suites; empty: the one that fits this machine.
  std::string suite;
  std::vector<std::string> set;
  std::vector<std::string> only;
  int repeat = 0;                        ///< 0: the suite's
  std::optional<Challenge> challenge{};  ///< to answer
};

/// Suite and catalog → plan with a new run id, every rule checked. Says on standard error what was
/// chosen by the machine, and why: suite, devices, cases that are left out. Throws Error.
[[nodiscard]] plan::Plan make_plan(const PlanRequest& request);

}  // namespace assay::commands
