#pragma once

#include <filesystem>

#include "judge/result.h"

namespace assay::report {

/// Writes result.json, report.html, report.txt, results.csv, ranks.csv, junit.xml and
/// mllog/<case>_round<N>.txt into `run_dir`, and Report_Succeed.html or Report_Failed.html when
/// there was an AutoML experiment; each atomically: a reader sees the old file or the new. Reads
/// the workloads' configurations from `run_dir`/plan.json and the experiments' journals when they
/// are there. Throws Error of kind environment when the folder cannot be written.
void write_reports(const judge::RunResult& result, const std::filesystem::path& run_dir);

}  // namespace assay::report
