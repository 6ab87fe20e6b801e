#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::commands {

/// A suite's hosts, or those of one of its cases.
struct SuiteHosts {
  std::string file;
  std::string name;
  plan::Cluster cluster;
  plan::Telemetry telemetry;
  std::vector<std::string> hosts;  ///< names in node order; for a case, one per node
  int procs = 0;                   ///< of the case, per node; 0 without one
};

/// An empty `case_name` means the whole cluster. `instead`, if not empty, replaces the suite's
/// hosts. Throws Error of kind usage for an unknown suite or case, of kind config for a bad suite,
/// a cluster without hosts or with too few for the case.
[[nodiscard]] SuiteHosts suite_hosts(const std::string& suite, const std::string& case_name,
                                     const std::vector<std::string>& instead = {});

}  // namespace assay::commands
