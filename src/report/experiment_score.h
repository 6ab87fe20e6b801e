#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Score, operations, error and the other main figures.
[[nodiscard]] page::Html cards(const ExperimentView& view);

/// Error, operations per second and score over time; empty when there are none.
[[nodiscard]] page::Html score_charts(const ExperimentView& view);

/// Telemetry of the nodes; empty when there is none.
[[nodiscard]] page::Html resources(const ExperimentView& view);

}  // namespace assay::report::experiment
