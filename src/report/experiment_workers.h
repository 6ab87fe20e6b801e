#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Each worker's activity over time, bounded in size; empty without workers.
[[nodiscard]] page::Html worker_lines(const ExperimentView& view);

}  // namespace assay::report::experiment
