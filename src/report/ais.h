#pragma once

#include "report/report.h"

namespace assay::report {

/// Writes the records of ais-bench workloads into the rounds' folders: train_result_info.json
/// (unless a round's results are incomplete), ais_result.json if a workload used set_result, and
/// report.txt for a job in a cloud. Throws Error of kind environment.
void write_ais_records(const ReportInput& input);

}  // namespace assay::report
