#pragma once

#include <vector>

#include "workload/workload.h"

namespace assay::micro {

/// The workloads that need only this machine's CPU: `null` emits PerfLog at a given rate and does
/// nothing else, to measure the harness; `matmul` multiplies matrices and verifies every step.
[[nodiscard]] std::vector<workload::Workload> workloads();

[[nodiscard]] workload::Workload null_workload();
[[nodiscard]] workload::Workload matmul_workload();

}  // namespace assay::micro
