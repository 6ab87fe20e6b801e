#pragma once

#include <filesystem>

#include "judge/result.h"

namespace assay::report {

/// Collects what AAH's `report.py --logs` does for an experiment: writes the graph of every trial
/// in AIPerf's form (<case>_round<N>/graphs/<trial>.json) and its hyper-parameters, epochs and end
/// (trials/<trial>.json) to `run_dir`/logs, and packs them with the run's journals, logs,
/// telemetry, reports and the best model's weights (weights/<trial>.pt) as `run_dir`/<run
/// id>-logs.tar.gz, whose path it returns. The same run yields the same content. Runs without an
/// experiment are packed as they are. Throws Error of kind environment if writing fails, or if tar
/// is missing or takes over ten minutes.
std::filesystem::path pack_logs(const judge::RunResult& result,
                                const std::filesystem::path& run_dir);

}  // namespace assay::report
