#pragma once

#include <vector>

#include "workload/workload.h"

namespace assay::train {

// Micro-benchmarks of training's components on this rank's device. Each runs to its end and reports
// through PerfLog. A step is one measurement of about `step_ms`; FINISHED has the results by name.
// See docs/training.md.

/// Dense matrix products in one precision; `peak_flops` is the best step's rate.
[[nodiscard]] workload::Workload gemm_workload();
/// Memory bandwidth: copy (2 accesses per element), scale (2) and triad (3).
[[nodiscard]] workload::Workload membw_workload();
/// Copies between host and device; CUDA only.
[[nodiscard]] workload::Workload transfer_workload();
/// All-reduce, all-gather, reduce-scatter, all-to-all, send and receive over a range of sizes:
/// algorithm and bus bandwidth. Requires at least two ranks.
[[nodiscard]] std::vector<workload::Workload> collective_workloads();
/// Causal attention as in a language model, forward and backward.
[[nodiscard]] workload::Workload attention_workload();

/// All of them.
[[nodiscard]] std::vector<workload::Workload> micro_workloads();

}  // namespace assay::train
