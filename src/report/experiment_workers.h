#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// What each worker did when, bounded in size; empty when there was no worker.
[[nodiscard]] page::Html worker_lines(const ExperimentView& view);

}  // namespace assay::report::experiment
