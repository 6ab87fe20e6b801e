#pragma once

#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/timeline.h"
#include "stats/series.h"
#include "telemetry/power.h"

namespace assay::judge {

/// The rows of one telemetry source of one node on the round's axis, in order of time.
struct SourceRows {
  std::string name;
  std::vector<double> t;
  std::vector<const telemetry::Row*> rows;  ///< into the evidence

  /// Without the samples that are not known.
  [[nodiscard]] std::vector<stats::Sample> column(telemetry::Column which) const;
  [[nodiscard]] bool is_device() const {
    return telemetry::source_kind(name) == telemetry::SourceKind::device;
  }
};

/// The sources that are judged (node, job, ipmi, rapl<i>, dev<i>; not the single cores).
[[nodiscard]] std::vector<SourceRows> source_rows(const Timeline& timeline,
                                                  const NodeEvidence& node);

struct PowerSource {
  std::string name;
  std::vector<stats::Sample> power;   ///< W
  std::vector<stats::Sample> energy;  ///< J, counter, corrected for resets
};

/// The sources of one node that together are its power and do not overlap: the whole node (ipmi)
/// when it is measured, otherwise processor packages (rapl<i>) and devices (dev<i>).
struct NodePower {
  std::vector<PowerSource> sources;
  std::string what;  ///< "whole node (ipmi)", "2 processor packages and 8 devices"
};
[[nodiscard]] NodePower node_power(const std::vector<SourceRows>& sources);

struct Energy {
  std::optional<double> joules;
  bool counters = false;  ///< from energy counters rather than integrated power
  double coverage = 0;    ///< of the window by samples, 0..1, the worst source
};

/// Energy of a node over a window. Counters are interpolated to the window's edges; without them on
/// every source, power is integrated by the trapezoid rule and held beyond the first and last
/// sample. Nothing when a source covers less than 90 % of the window (`slack` seconds at each edge
/// count as covered).
[[nodiscard]] Energy energy_of(const NodePower& node, const Window& window, double slack);

/// Moments in the window at which power is looked at: its edges and the samples, at most 20,000.
[[nodiscard]] std::vector<double> power_moments(const std::vector<NodePower>& nodes,
                                                const Window& window);
/// The sum of the node's sources at these moments.
[[nodiscard]] std::vector<stats::Sample> power_sum(const NodePower& node,
                                                   const std::vector<double>& moments);

}  // namespace assay::judge
