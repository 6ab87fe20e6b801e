#pragma once

#include <cstdint>
#include <vector>

#include "automl/graph.h"
#include "automl/score.h"

namespace assay::automl {

/// The trial's parents, from the start model to the trial itself. A parent that is not an earlier
/// trial (a damaged journal) ends the list.
[[nodiscard]] std::vector<std::int64_t> lineage_of(const ExperimentRecord& record,
                                                   std::int64_t trial);

/// The graph that the trial trained: the start model, the operations of its lineage, its kernel
/// size and dropout. Throws Error of kind config when the record does not give one.
[[nodiscard]] Graph architecture_of(const ExperimentRecord& record, std::int64_t trial);

}  // namespace assay::automl
