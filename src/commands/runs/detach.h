#pragma once

#include <string>

#include "store/run_dir.h"

namespace assay::commands {

/// Lets the run continue without this terminal, and prints how to find it again: as a batch job if
/// the suite's launcher is Slurm and there is no allocation yet, otherwise as a process in its own
/// session. The controller's output goes to controller.log in the run directory. Throws Error if it
/// cannot be started; the run can still be resumed.
int detach(const store::RunDir& run);

/// The batch job submitted for the run, or empty.
[[nodiscard]] std::string batch_job_of(const store::RunDir& run);

}  // namespace assay::commands
