#pragma once

#include "config.h"
#include "runtime.h"

namespace assay::micro {

// Each runs one rank of a workload to its end and gives the exit code of the process.

/// Emits PerfLog at a given rate and does nothing else: it measures the harness.
[[nodiscard]] int run_null(Config& config, const Place& place);

/// Multiplies matrices on the CPU and verifies every step.
[[nodiscard]] int run_matmul(Config& config, const Place& place);

}  // namespace assay::micro
