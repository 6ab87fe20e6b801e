#pragma once

#include "judge/result.h"

namespace assay::report {

/// A run with every kind of case: valid with GPUs and energy, invalid, incomplete, many ranks. The
/// numbers are made up, and the same on every machine.
[[nodiscard]] judge::RunResult demo_result();

/// The smallest run: one valid case with one round and one rank, no series.
[[nodiscard]] judge::RunResult small_result();

/// One case with one round of `ranks` ranks, each with a series for throughput, power and memory.
[[nodiscard]] judge::RunResult wide_result(int ranks);

/// A sweep of batch size and processes: points that failed, energy and a scaling curve.
[[nodiscard]] judge::RunResult sweep_result();

}  // namespace assay::report
