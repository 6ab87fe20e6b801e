#pragma once

#include "automl/experiment_settings.h"
#include "config/node.h"

namespace assay::plan {

/// Reads a case's `automl` (docs/suite.md). A start model in a file is read too, so that the plan
/// contains it. Throws Error of kind config at file:line:column.
[[nodiscard]] automl::ExperimentSettings read_automl(const config::Node& node);

}  // namespace assay::plan
