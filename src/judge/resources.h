#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/power.h"
#include "judge/round_context.h"

namespace assay::judge {

// The steps of compute_resources.

/// The telemetry sources of each node, in the order of the evidence.
using Sources = std::vector<std::vector<SourceRows>>;

/// "node 0", with the host if there are several nodes.
[[nodiscard]] std::string node_label(const RoundContext& round, const NodeEvidence& node);
/// Adds a thinned series of catalog::known_series(); adds none without samples.
void add_series(RoundContext& round, std::string_view name, std::string label,
                const std::vector<stats::Sample>& samples);

/// Computes the nodes' energy and power; compares the devices' counters with their power.
void compute_energy(RoundContext& round, const Sources& sources);
/// Computes the cost of the power limit: time spent at it, and clocks relative to the highest.
void compute_clocks(RoundContext& round, const Sources& sources);

}  // namespace assay::judge
