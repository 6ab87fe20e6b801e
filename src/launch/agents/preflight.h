#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/agents/clock_offset.h"
#include "launch/agents/launcher.h"
#include "plan/plan.h"
#include "probe/check.h"

namespace assay::launch {

struct NodeChecks {
  int node = 0;
  std::string host;
  std::vector<probe::Check> checks;
  std::optional<ClockOffset> clock{};  ///< nothing: this machine, or not measured
};

struct PreflightOptions {
  std::filesystem::path out_dir;  ///< of the runs; where nodes write elsewhere, that is looked at
  /// Called about once a second while it goes on, with what is being done. May be empty.
  std::function<void(const std::string& stage)> on_stage;
};

/// Asks every node that the plan would use whether it is fit, and all of them whether they fit
/// together: clocks, kind of machine, data, the rendezvous port, connections between each two.
/// All nodes at once; every question is bounded. A node whose agent does not come or does not
/// answer gets a failed check, and the others are checked all the same.
/// Throws Error of kind launch when a scheduler gives no nodes at all.
[[nodiscard]] std::vector<NodeChecks> preflight(const plan::Plan& plan, Launcher& launcher,
                                                const PreflightOptions& options);

/// The paths of the data that the plan's cases read, each with the number of nodes, from the first
/// on, that need it.
[[nodiscard]] std::map<std::string, int> data_paths(const plan::Plan& plan);

}  // namespace assay::launch
