#pragma once

#include <filesystem>
#include <string>

#include "core/json.h"
#include "launch/agents/launcher.h"
#include "plan/plan.h"

namespace assay::launch {

/// What executing `plan` would do, down to every file, command and environment, without doing it:
/// {agents: [{label, argv}], rounds: [{case, round, nodes: [{node, host, directory, files, env,
/// ranks: [{rank, argv, env}]}]}]}. A master port that is chosen at run time is shown as 0.
/// Throws Error of kind config when the cluster is too small for a case.
[[nodiscard]] Json describe_execution(const plan::Plan& plan, const Launcher& launcher,
                                      const std::filesystem::path& run_path);

/// The same for people; of many ranks that look alike, the first and the last are shown.
[[nodiscard]] std::string render_execution(const Json& execution);

}  // namespace assay::launch
