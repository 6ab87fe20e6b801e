#pragma once

#include <filesystem>

#include "judge/result.h"

namespace assay::report {

/// Collects an experiment's files like AAH's `report.py --logs`: writes into `run_dir`/logs the
/// graph of every trial in AIPerf's form (<case>_round<N>/graphs/<trial>.json) and its
/// hyper-parameters, epochs and end (trials/<trial>.json), and packs them with the run's journals,
/// logs, telemetry, reports and the best model's weights (weights/<trial>.pt) as `run_dir`/<run
/// id>-logs.tar.gz, whose path it returns. The same run gives the same content. Runs without an
/// experiment are packed unchanged. Throws Error of kind environment if it cannot be written, or
/// tar is missing or takes more than ten minutes.
std::filesystem::path pack_logs(const judge::RunResult& result,
                                const std::filesystem::path& run_dir);

}  // namespace assay::report
