#pragma once

#include <vector>

#include "core/json.h"
#include "judge/result.h"

namespace assay::judge {

/// Findings from system.json's device states before and after the run: new errors, changed
/// settings, lost links, drivers that differ between nodes, and states that are missing although a
/// run that `ended` must have them. None for a run whose vendor reports no state, or of a version
/// that did not ask.
[[nodiscard]] std::vector<Finding> device_findings(const Json& system, bool ended);

}  // namespace assay::judge
