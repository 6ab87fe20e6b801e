#pragma once

#include "config/node.h"
#include "core/json.h"
#include "plan/plan.h"

namespace assay::plan {

/// `cluster.modelarts` of a suite, checked and with its defaults, as Cluster::options. Secrets are
/// never in it: `credentials` is the path of a file.
[[nodiscard]] Json read_modelarts(const config::Node& node);

/// What a case of such a suite must be, and what it gets: one command an instance, and the results
/// that ais-bench jobs leave as metrics. Throws Error of kind config at `node`.
void adapt_to_modelarts(const config::Node& node, const Cluster& cluster, CasePlan& plan);

}  // namespace assay::plan
