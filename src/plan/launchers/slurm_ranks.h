#pragma once

#include <string>
#include <vector>

#include "plan/launchers/slurm_options.h"
#include "plan/plan.h"

namespace assay::plan {

/// The runtime of containers that Slurm's plugin pyxis makes: options of srun, not a program.
inline constexpr const char* kPyxis = "pyxis";

/// Pure: one srun that starts every rank of the case as a task of its own, in rank order over the
/// first nodes of the allocation, each with the numbers that Assay's own ranks have. Placeholders
/// in it are those of the first node.
[[nodiscard]] std::vector<std::string> srun_ranks(const SlurmOptions& options,
                                                  const CasePlan& plan);

/// Pure: pyxis' options for the case's container, with what a rank needs of its node mounted.
[[nodiscard]] std::vector<std::string> pyxis_options(const Container& container,
                                                     const CasePlan& plan);

}  // namespace assay::plan
