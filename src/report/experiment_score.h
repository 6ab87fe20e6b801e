#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// Score, operations, error and other main figures.
[[nodiscard]] page::Html cards(const ExperimentView& view);

/// Error, operations per second and score over time; empty without data.
[[nodiscard]] page::Html score_charts(const ExperimentView& view);

/// Telemetry of the nodes; empty without data.
[[nodiscard]] page::Html resources(const ExperimentView& view);

}  // namespace assay::report::experiment
