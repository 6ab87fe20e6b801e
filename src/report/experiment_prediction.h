#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Accuracies that the Gaussian process predicted against those that were measured; empty when it
/// predicted none.
[[nodiscard]] page::Html prediction(const ExperimentView& view);

}  // namespace assay::report::experiment
