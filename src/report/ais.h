#pragma once

#include "report/report.h"

namespace assay::report {

/// The records of workloads of ais-bench, in the rounds' folders: train_result_info.json (there is
/// none of a round whose results are not complete), ais_result.json where a workload used
/// set_result, and report.txt of a job in a cloud. Throws Error of kind environment.
void write_ais_records(const ReportInput& input);

}  // namespace assay::report
