#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "launch/launcher.h"
#include "plan/plan.h"
#include "probe/check.h"

namespace assay::launch {

struct NodeChecks {
  int node = 0;
  std::string host;
  std::vector<probe::Check> checks;
};

/// Asks every node that the plan would use whether it is fit. A node that does not answer in time
/// has one failed check that says so. Throws Error of kind launch when agents cannot be started.
[[nodiscard]] std::vector<NodeChecks> preflight(const plan::Plan& plan, Launcher& launcher,
                                                const std::filesystem::path& out_dir);

}  // namespace assay::launch
