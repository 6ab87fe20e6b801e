#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// The best trial's network; empty without one.
[[nodiscard]] page::Html network(const ExperimentView& view);

}  // namespace assay::report::experiment
