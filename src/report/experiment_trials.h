#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Every trial, bounded in size; empty when there are none.
[[nodiscard]] page::Html trial_table(const ExperimentView& view);

}  // namespace assay::report::experiment
