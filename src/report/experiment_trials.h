#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// All trials, bounded in size; empty without trials.
[[nodiscard]] page::Html trial_table(const ExperimentView& view);

}  // namespace assay::report::experiment
