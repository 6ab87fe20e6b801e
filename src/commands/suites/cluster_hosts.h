#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace assay::commands {

/// The hosts of a suite, or those that one of its cases runs on.
struct SuiteHosts {
  std::string file;
  std::string name;
  plan::Cluster cluster;
  plan::Telemetry telemetry;
  std::vector<std::string> hosts;  ///< names, in node order; of a case, as many as it has nodes
  int procs = 0;                   ///< of the case per node; 0 without one
};

/// `case_name` is empty for the whole cluster. `instead` are used for the suite's own hosts, unless
/// there are none. Throws Error of kind usage for an unknown suite or
/// case, of kind config for a bad suite, a cluster without hosts or with too few for the case.
[[nodiscard]] SuiteHosts suite_hosts(const std::string& suite, const std::string& case_name,
                                     const std::vector<std::string>& instead = {});

}  // namespace assay::commands
