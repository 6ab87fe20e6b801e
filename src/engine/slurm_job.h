#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/execution_folder.h"
#include "slurm/slurm_node.h"

namespace assay::engine {

/// Where in Slurm jobs are submitted; what is empty is left to Slurm.
struct SlurmTarget {
  std::string partition{};
  std::string account{};
  std::string qos{};
};

// Exit codes of the script, before its controller has begun.
inline constexpr int kNoFolderCode = 97;   ///< the execution's folder is not there
inline constexpr int kNoProgramCode = 98;  ///< `assay` is not there

/// What sbatch is asked for; the script's path is the last of it. `nodes` are the cluster's: they
/// say what a device of the job's type is called. Throws Error of kind environment where no node
/// has such devices. Pure.
[[nodiscard]] std::vector<std::string> sbatch_args(const Order& order, const SlurmTarget& target,
                                                   const std::vector<slurm::Node>& nodes);

/// Runs the controller on the first node of the allocation, hands it the signals that Slurm sends
/// to the script, and ends what a controller leaves that was killed. Pure.
[[nodiscard]] std::string batch_script(const ExecutionFolder& folder,
                                       const std::filesystem::path& assay);
[[nodiscard]] std::filesystem::path batch_script_file(const ExecutionFolder& folder);

}  // namespace assay::engine
