#pragma once

#include "perflog/writer.h"
#include "train/loop/settings.h"
#include "workload/place.h"

namespace assay::train {

/// Trains `settings.workload` on this rank, PerfLog on `log`, and gives the exit code of the
/// process. Errors: of kind config for a configuration that cannot be (a batch larger than the
/// data), environment for missing data or devices and out of memory (with the batch that would
/// fit), round_failed for a loss that is not finite and for other ranks that failed.
[[nodiscard]] int train(const Settings& settings, const workload::Place& place,
                        perflog::Writer& log);

/// Says in FINISHED what `batch_size: auto` is on this rank's device, as "batch_size" and "why".
[[nodiscard]] int find_batch(Settings settings, const workload::Place& place, perflog::Writer& log);

/// Runs the input pipeline of the workload alone, for `max_steps` batches or the epochs.
[[nodiscard]] int measure_data(const Settings& settings, const workload::Place& place,
                               perflog::Writer& log);

}  // namespace assay::train
