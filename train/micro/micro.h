#pragma once

#include <string>
#include <vector>

#include "perflog/writer.h"
#include "train/loop/options.h"
#include "train/parallel/place.h"

namespace assay::train {

// Micro-benchmarks of what training is made of, on this rank's device. Each runs to its end,
// reports through PerfLog and gives the exit code of the process. A step is one measurement of
// about `step_ms`; FINISHED holds the results by name. See docs/training.md.

/// Dense matrix products in one precision; `peak_flops` is the best step's rate.
[[nodiscard]] int run_gemm(Options& options, const Place& place, perflog::Writer& log);
/// Memory bandwidth: copy (2 accesses an element), scale (2) and triad (3).
[[nodiscard]] int run_membw(Options& options, const Place& place, perflog::Writer& log);
/// Copies between host and device; CUDA only.
[[nodiscard]] int run_transfer(Options& options, const Place& place, perflog::Writer& log);
/// All-reduce over sizes: algorithm and bus bandwidth. At least two ranks.
[[nodiscard]] int run_allreduce(Options& options, const Place& place, perflog::Writer& log);

/// "gemm", "membw", "transfer", "allreduce".
[[nodiscard]] const std::vector<std::string>& micro_workloads();
[[nodiscard]] int run_micro(const std::string& name, Options& options, const Place& place,
                            perflog::Writer& log);

}  // namespace assay::train
