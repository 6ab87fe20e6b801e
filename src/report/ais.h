#pragma once

#include "report/report.h"

namespace assay::report {

/// The records of workloads of ais-bench, in the rounds' folders: train_result_info.json (only for
/// rounds with complete results), ais_result.json if a workload used set_result, and report.txt of
/// a job in a cloud. Throws Error of kind environment.
void write_ais_records(const ReportInput& input);

}  // namespace assay::report
