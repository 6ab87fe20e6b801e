#pragma once

#include "automl/experiment_settings.h"
#include "config/node.h"

namespace assay::plan {

/// The `automl` of a case (docs/suite.md). A start model in a file is read, so that the plan holds
/// it. Throws Error of kind config at file:line:column.
[[nodiscard]] automl::ExperimentSettings read_automl(const config::Node& node);

}  // namespace assay::plan
