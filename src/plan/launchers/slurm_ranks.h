#pragma once

#include <string>
#include <vector>

#include "plan/launchers/slurm_options.h"
#include "plan/plan.h"

namespace assay::plan {

/// Container runtime provided by Slurm's plugin pyxis: options of srun, not a program.
inline constexpr const char* kPyxis = "pyxis";

/// One srun that starts every rank of the case as its own task, in rank order over the first nodes
/// of the allocation, with the numbers that Assay's own ranks get. Its placeholders are those of
/// the first node. Pure.
[[nodiscard]] std::vector<std::string> srun_ranks(const SlurmOptions& options,
                                                  const CasePlan& plan);

/// The pyxis options for the case's container, with mounts for what a rank needs of its node. Pure.
[[nodiscard]] std::vector<std::string> pyxis_options(const Container& container,
                                                     const CasePlan& plan);

}  // namespace assay::plan
