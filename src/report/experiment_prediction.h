#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Accuracies predicted by the Gaussian process against the measured ones; empty without
/// predictions.
[[nodiscard]] page::Html prediction(const ExperimentView& view);

}  // namespace assay::report::experiment
