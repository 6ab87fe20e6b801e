#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::commands {

/// The command-line options that shape the plan.
struct PlanRequest {
  /// A file, or a name in conf/suites; empty: the one that fits this machine.
  std::string suite;
  std::vector<std::string> set;
  std::vector<std::string> only;
  int repeat = 0;                        ///< 0: the suite's
  std::optional<Challenge> challenge{};  ///< to answer
};

/// Goes on as assay-full if only that has the backend of the plan's launcher
/// (commands/base/extras.h).
void need_backend(const plan::Plan& plan);

/// Makes a plan with a new run id from suite and catalog, checking every rule. Says on standard
/// error what the machine decided, and why: suite, devices, omitted cases. Throws Error.
[[nodiscard]] plan::Plan make_plan(const PlanRequest& request);

}  // namespace assay::commands
