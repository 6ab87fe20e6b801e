#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/json.h"
#include "launch/agents/preflight.h"

namespace assay::launch {

struct PreflightStyle {
  bool color = false;
  std::size_t width = 100;  ///< columns beyond it go into a second table below
};

/// "PASS", in its color if colors are on.
[[nodiscard]] std::string level_text(probe::Level level, bool color);

/// Pure: one host in full; several as a table of hosts × checks (a column for every check that is
/// not passed wherever it was asked), then what is not passed, with advice, hosts that say the same
/// together.
[[nodiscard]] std::string render_checks(const std::vector<NodeChecks>& nodes,
                                        const PreflightStyle& style);

/// [{"node", "host", "level", "clock"?, "checks": [{"id", "level", "seen", "advice"?}]}]
[[nodiscard]] Json to_json(const std::vector<NodeChecks>& nodes);

}  // namespace assay::launch
