#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/result.h"
#include "page/table.h"

namespace assay::report {

/// How far a sweep's best point is ahead of the next one.
enum class Lead {
  clear,    ///< the 95 % interval of the difference, from both spreads, excludes 0
  spread,   ///< it includes 0: which one is better is unknown
  unknown,  ///< one of them has no spread
  alone,    ///< there is no other VALID point
};

constexpr auto enum_names(Lead /*lead*/) {
  using enum Lead;
  return std::to_array<EnumName<Lead>>(
      {{clear, "clear"}, {spread, "within the spread"}, {unknown, "unknown"}, {alone, "alone"}});
}

/// The best VALID point of a sweep by a metric.
struct SweepBest {
  const judge::CaseResult* point = nullptr;
  const judge::Summary* summary = nullptr;    ///< the metric's
  const judge::CaseResult* second = nullptr;  ///< the next best
  const judge::Summary* second_summary = nullptr;
  Lead lead = Lead::alone;
};

struct ScalingPoint {
  const judge::CaseResult* point = nullptr;
  int ranks = 0;
  /// Relative to the line's fewest ranks; nothing if the point is not VALID.
  std::optional<double> speedup{};
  std::optional<double> efficiency{};  ///< speedup / (ranks / the fewest ranks)
};

/// Points that differ only in the number of ranks, fewest first.
struct ScalingLine {
  std::string label{};  ///< its place on the other axes, "batch_size=32"; or empty
  int base_ranks = 0;
  std::vector<ScalingPoint> points{};
};

/// The content of a sweep's report; refers to the result it was made from.
struct SweepView {
  const judge::SweepGrid* grid = nullptr;
  std::vector<const judge::CaseResult*> points{};
  std::optional<SweepBest> best{};    ///< by the headline
  std::string no_best{};              ///< why there is no best point
  std::optional<SweepBest> energy{};  ///< by energy; nothing if no VALID point has any
  std::vector<ScalingLine> scaling{};
  std::string no_scaling{};  ///< why there is none although nodes or procs vary

  [[nodiscard]] const judge::CaseResult* at(const std::vector<Json>& values) const;
};

[[nodiscard]] std::vector<SweepView> sweep_views(const judge::RunResult& result);

/// An axis value: "32", "bf16".
[[nodiscard]] std::string axis_value_text(const Json& value);
/// "batch_size=32, procs=2"
[[nodiscard]] std::string place_text(const SweepView& view, const judge::CaseResult& point);
/// "batch_size × procs: 5 points, 1 of the grid left out by constraints"
[[nodiscard]] std::string grid_text(const SweepView& view);
/// "Best by Throughput: batch_size=64 with 812 samples/s; batch_size=32 with 808 samples/s is
/// within the spread". `what` is "Best by" or "Least".
[[nodiscard]] std::string best_text(const SweepView& view, const SweepBest& best,
                                    const std::string& what);
/// Best point, energy and scaling as sentences, including what is missing.
[[nodiscard]] std::vector<std::string> sweep_sentences(const SweepView& view);

/// One row per point: its place, result, energy and verdict.
[[nodiscard]] page::Table sweep_table(const SweepView& view, const judge::RunResult& result);
/// For two axes: one row per value of the first, one column per value of the second.
[[nodiscard]] page::Table sweep_matrix(const SweepView& view);
/// Whether a sweep has two axes small enough for a matrix.
[[nodiscard]] bool fits_matrix(const SweepView& view, std::size_t columns);

/// The sweeps in the form of result.json.
[[nodiscard]] Json sweeps_to_json(const judge::RunResult& result);

}  // namespace assay::report
