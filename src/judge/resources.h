#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "judge/power.h"
#include "judge/round_context.h"

namespace assay::judge {

// The parts of compute_resources.

/// The telemetry sources of every node of the evidence, in its order.
using Sources = std::vector<std::vector<SourceRows>>;

/// "node 0", with its host where there are several.
[[nodiscard]] std::string node_label(const RoundContext& round, const NodeEvidence& node);
/// Adds a series of catalog::known_series(), thinned; none without samples.
void add_series(RoundContext& round, std::string_view name, std::string label,
                const std::vector<stats::Sample>& samples);

/// Energy and power of the nodes; the devices' counters against their power.
void compute_energy(RoundContext& round, const Sources& sources);
/// What the power limit costs: time at it, clocks against the highest.
void compute_clocks(RoundContext& round, const Sources& sources);

}  // namespace assay::judge
