#pragma once

#include <vector>

#include "core/json.h"
#include "judge/result.h"

namespace assay::judge {

/// What system.json says about the devices before and after the run: errors that came, settings
/// that were changed, links that became fewer; drivers that differ between nodes; and what could
/// not be looked at, where a run that `ended` must have it. Nothing for a run whose vendor tells no
/// state, or of a version that did not ask.
[[nodiscard]] std::vector<Finding> device_findings(const Json& system, bool ended);

}  // namespace assay::judge
