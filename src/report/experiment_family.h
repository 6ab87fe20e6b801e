#pragma once

#include "page/markup.h"
#include "report/experiment_report.h"

namespace assay::report::experiment {

/// The family tree of the models, bounded in size; empty without models.
[[nodiscard]] page::Html family(const ExperimentView& view);

}  // namespace assay::report::experiment
