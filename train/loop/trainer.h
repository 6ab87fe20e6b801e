#pragma once

#include "perflog/writer.h"
#include "train/loop/settings.h"
#include "workload/place.h"

namespace assay::train {

/// Trains `settings.workload` on this rank, with PerfLog on `log`, and returns the process's exit
/// code. Errors are of kind config for an impossible configuration (a batch larger than the data),
/// environment for missing data or devices and out of memory (with the batch that would fit),
/// round_failed for a non-finite loss and failures of other ranks.
[[nodiscard]] int train(const Settings& settings, const workload::Place& place,
                        perflog::Writer& log);

/// Reports in FINISHED what `batch_size: auto` is on this rank's device: "batch_size" and "why".
[[nodiscard]] int find_batch(Settings settings, const workload::Place& place, perflog::Writer& log);

/// Runs only the workload's input pipeline, for `max_steps` batches or the epochs.
[[nodiscard]] int measure_data(const Settings& settings, const workload::Place& place,
                               perflog::Writer& log);

}  // namespace assay::train
