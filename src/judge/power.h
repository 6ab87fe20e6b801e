#pragma once

#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/timeline.h"
#include "stats/series.h"
#include "telemetry/source_kind.h"

namespace assay::judge {

/// The rows of a node's telemetry source on the round's axis, in time order.
struct SourceRows {
  std::string name;
  std::vector<double> t;
  std::vector<const telemetry::Row*> rows;  ///< pointers into the evidence

  /// Leaves out unknown samples.
  [[nodiscard]] std::vector<stats::Sample> column(telemetry::Column which) const;
  [[nodiscard]] bool is_device() const {
    return telemetry::source_kind(name) == telemetry::SourceKind::device;
  }
};

/// The sources used for judging (node, job, ipmi, rapl<i>, dev<i>, but not single cores).
[[nodiscard]] std::vector<SourceRows> source_rows(const Timeline& timeline,
                                                  const NodeEvidence& node);

struct PowerSource {
  std::string name;
  std::vector<stats::Sample> power;   ///< in W
  std::vector<stats::Sample> energy;  ///< in J since the first sample; never falls
  /// Moments at which the recorded counter fell (a reset, a wrap) or leapt further than any source
  /// can draw: the energy there is the power's integral, or not counted without one.
  std::vector<double> breaks{};
};
[[nodiscard]] PowerSource power_source(const SourceRows& rows);

/// The non-overlapping sources that make up a node's power: the whole node (ipmi) if it is
/// measured, otherwise processor packages (rapl<i>) and devices (dev<i>).
struct NodePower {
  std::vector<PowerSource> sources;
  std::string what;  ///< "whole node (ipmi)", "2 processor packages and 8 devices"
};
[[nodiscard]] NodePower node_power(const std::vector<SourceRows>& sources);

/// A source's energy over a window, by its counter and by integrating its power; each is set if its
/// samples cover 90 % of the window. A counter is interpolated at the window's edges, and the
/// uncovered part counts with its mean; a counter that stands still while the source draws power is
/// ignored. Power is integrated by the trapezoid rule and held beyond the first and last sample;
/// `slack` seconds at each edge count as covered, holes of more than half a minute do not.
struct SourceEnergy {
  std::optional<double> counter;
  std::optional<double> integral;
  double coverage = 0;  ///< of the window, 0..1: of the value used, else the better one
  /// In J; prefers the source's own counter.
  [[nodiscard]] std::optional<double> joules() const { return counter ? counter : integral; }
};
[[nodiscard]] SourceEnergy energy_of(const PowerSource& source, const Window& window, double slack);

/// A node's energy over a window: of all its sources, or of none.
struct Energy {
  std::optional<double> joules;
  std::size_t counters = 0;   ///< sources that used a counter
  std::size_t integrals = 0;  ///< sources that integrated power
  double coverage = 0;        ///< the fraction of the window, 0..1, covered by the worst source
};
[[nodiscard]] Energy energy_of(const NodePower& node, const Window& window, double slack);

/// The moments at which power is evaluated: the window's edges and its samples, at most 20,000.
[[nodiscard]] std::vector<double> power_moments(const std::vector<NodePower>& nodes,
                                                const Window& window);
/// The sum of the node's sources at these moments.
[[nodiscard]] std::vector<stats::Sample> power_sum(const NodePower& node,
                                                   const std::vector<double>& moments);

}  // namespace assay::judge
