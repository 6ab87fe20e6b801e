#pragma once

#include "perflog/writer.h"
#include "train/loop/options.h"
#include "train/parallel/place.h"

namespace assay::train {

inline constexpr const char* kAutomlWorker = "automl-worker";

/// A worker of an AutoML experiment: connects to the coordinator that ASSAY_AUTOML_ADDRESS and
/// ASSAY_AUTOML_TOKEN name, and trains what it is given until it is told to stop. Keys of
/// `options`: device, threads, connect_timeout_s, trial_timeout_s, cached_weights
/// (docs/automl.md). Gives the exit code of the process: 1, with a message, when the connection
/// broke or was refused. Throws Error for a wrong configuration and for data or a device that is
/// missing here.
[[nodiscard]] int run_automl_worker(Options& options, const Place& place, perflog::Writer& log);

}  // namespace assay::train
