#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/metric.h"

namespace assay::catalog {

/// A metric with a fixed name. Only this table describes it: the judge computes it under this name,
/// planning checks rules against it, and reports show it as described here.
struct KnownMetric {
  std::string_view name;  ///< "steady_throughput"
  std::string_view unit;  ///< "samples/s"; "1": a plain number
  Better better = Better::neither;
  std::string_view title;        ///< for people
  std::string_view description;  ///< how it is computed
  int card = 0;                  ///< position among a case's cards, from 1; 0: only in tables
  /// The metric with the lowest rank represents a case in tables, unless its workload names
  /// another; 0: only when it is named.
  int headline = 0;
  std::string_view beside{};  ///< it has that rank only in a case with this metric too
  bool by_workload = false;   ///< reported by the workload; shown after those that Assay computes

  [[nodiscard]] MetricInfo info() const {
    return {std::string(name), std::string(unit), better, std::string(description)};
  }
};

/// All metrics, in display order.
[[nodiscard]] std::span<const KnownMetric> known_metrics();
/// Returns nullptr for an unknown metric.
[[nodiscard]] const KnownMetric* find_known_metric(std::string_view name) noexcept;
/// Throws Error of kind internal for an unknown name.
[[nodiscard]] const KnownMetric& known_metric(std::string_view name);

/// Whether it measures the speed of all ranks together and so grows with their number.
[[nodiscard]] bool adds_up_over_ranks(std::string_view name) noexcept;

/// The card and headline ranks of metrics that a workload or the suite names itself.
inline constexpr int kNamedCard = 8;
inline constexpr int kNamedHeadline = 12;

/// Metrics whose names a workload chooses: "final_<quality>", "busbw_<size>".
struct MetricFamily {
  std::string_view prefix;
  std::string_view suffix;
  std::string_view unit;
  Better better = Better::neither;  ///< neither: decided by the quality's name or the case's target
  std::string_view description;
  std::string_view title;  ///< for people; "{}" is the text between prefix and suffix, in words

  [[nodiscard]] bool holds(std::string_view name) const noexcept;
};
[[nodiscard]] std::span<const MetricFamily> metric_families();
/// Returns nullptr for a name outside all families.
[[nodiscard]] const MetricFamily* find_metric_family(std::string_view name) noexcept;

/// A metric's name for people: "Memory bandwidth, triad", "Final MLM accuracy", "Bus bandwidth, 64
/// KiB". A name known only to the suite or the workload stays as it is, in words.
[[nodiscard]] std::string metric_title(std::string_view name);

/// The content of a chart over the time of a round.
struct KnownSeries {
  std::string_view name;
  std::string_view title;
  std::string_view unit;
  bool last = false;  ///< show the last value, because it accumulates or should fall
};
[[nodiscard]] std::span<const KnownSeries> known_series();
/// Returns nullptr for an unknown series.
[[nodiscard]] const KnownSeries* find_known_series(std::string_view name) noexcept;

}  // namespace assay::catalog
