#pragma once

#include <cstdint>
#include <string>

#include "automl/score.h"
#include "report/experiment.h"

namespace assay::report::experiment {

// The sections of an experiment's page: well-formed markup with all text escaped, bounded in size
// whatever the number of trials and workers; "" where there is nothing to show.

/// Score, operations, error and what else says most.
[[nodiscard]] std::string cards(const ExperimentView& view);

/// Error, operations per second and score over time.
[[nodiscard]] std::string score_charts(const ExperimentView& view);

/// Every trial.
[[nodiscard]] std::string trial_table(const ExperimentView& view);

/// The family tree of the models.
[[nodiscard]] std::string family(const ExperimentView& view);

/// The best trial's network.
[[nodiscard]] std::string network(const ExperimentView& view);

/// Accuracies that the Gaussian process predicted against those that were measured.
[[nodiscard]] std::string prediction(const ExperimentView& view);

/// Who did what when.
[[nodiscard]] std::string worker_lines(const ExperimentView& view);

/// Telemetry of the nodes.
[[nodiscard]] std::string resources(const ExperimentView& view);

/// "wider 0 (+8)", "deeper after 12", …: text, not markup. What is no list of operations reads as
/// it is.
[[nodiscard]] std::string operations_text(const Json& operations);

/// "98.83 %".
[[nodiscard]] std::string accuracy_text(double accuracy);

}  // namespace assay::report::experiment
