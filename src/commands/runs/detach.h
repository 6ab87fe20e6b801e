#pragma once

#include <string>

#include "store/run_dir.h"

namespace assay::commands {

/// Leaves the run going without this terminal, and prints how to find it again: as a batch job
/// where the suite's launcher is Slurm and no allocation is at hand, else as a process of its own
/// session. What the controller prints goes to controller.log in the run directory. Throws Error
/// when it cannot be started; the run can then still be resumed.
int detach(const store::RunDir& run);

/// The batch job that was submitted for the run, or empty.
[[nodiscard]] std::string batch_job_of(const store::RunDir& run);

}  // namespace assay::commands
