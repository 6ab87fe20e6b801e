#pragma once

#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/timeline.h"
#include "stats/series.h"
#include "telemetry/source_kind.h"

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
  std::vector<stats::Sample> energy;  ///< J since the first sample, never falls
  /// Times at which the recorded counter fell (a reset, a wrap) or jumped by more than any source
  /// can draw: the integral of the power replaces the difference, or nothing if that is unknown.
  std::vector<double> breaks{};
};
[[nodiscard]] PowerSource power_source(const SourceRows& rows);

/// The sources of one node that together are its power and do not overlap: the whole node (ipmi)
/// when it is measured, otherwise processor packages (rapl<i>) and devices (dev<i>).
struct NodePower {
  std::vector<PowerSource> sources;
  std::string what;  ///< "whole node (ipmi)", "2 processor packages and 8 devices"
};
[[nodiscard]] NodePower node_power(const std::vector<SourceRows>& sources);

/// Energy of one source over a window, by its counter and by integrating its power; each is there
/// if its samples cover 90 % of the window. A counter is interpolated to the window's edges, and
/// parts that it does not reach count with its mean; a counter that stands still while the source
/// draws power is ignored. Power is integrated by the trapezoid rule and extended beyond the first
/// and last sample;
/// `slack` seconds at each edge count as covered, holes of more than half a minute do not.
struct SourceEnergy {
  std::optional<double> counter;
  std::optional<double> integral;
  double coverage = 0;  ///< of the window, 0..1, by what is there, else by the better of both
  /// J: the source's own counter counts where it has one.
  [[nodiscard]] std::optional<double> joules() const { return counter ? counter : integral; }
};
[[nodiscard]] SourceEnergy energy_of(const PowerSource& source, const Window& window, double slack);

/// Energy of a node over a window: of all its sources, or of none.
struct Energy {
  std::optional<double> joules;
  std::size_t counters = 0;   ///< sources that counted it
  std::size_t integrals = 0;  ///< sources whose power was integrated
  double coverage = 0;        ///< of the window by samples, 0..1, the worst source
};
[[nodiscard]] Energy energy_of(const NodePower& node, const Window& window, double slack);

/// Times in the window at which power is evaluated: its edges and the samples, at most 20,000.
[[nodiscard]] std::vector<double> power_moments(const std::vector<NodePower>& nodes,
                                                const Window& window);
/// The sum of the node's sources at these moments.
[[nodiscard]] std::vector<stats::Sample> power_sum(const NodePower& node,
                                                   const std::vector<double>& moments);

}  // namespace assay::judge
