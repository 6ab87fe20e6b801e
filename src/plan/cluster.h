#pragma once

#include "config/node.h"
#include "plan/plan.h"

namespace assay::plan {

/// The `cluster` of a suite. Every value that reaches the command line of ssh or srun is
/// checked not to be taken for an option there.
[[nodiscard]] Cluster read_cluster(const config::Node& node);

}  // namespace assay::plan
