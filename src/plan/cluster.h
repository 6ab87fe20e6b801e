#pragma once

#include "config/node.h"
#include "plan/plan.h"

namespace assay::plan {

/// Reads the `cluster` of a suite. Every value that reaches the command line of ssh or srun is
/// checked so that it cannot be taken for an option.
[[nodiscard]] Cluster read_cluster(const config::Node& node);

}  // namespace assay::plan
