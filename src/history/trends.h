#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"
#include "history/run_filter.h"
#include "stats/change_points.h"

namespace assay::history {

struct TrendOptions {
  RunFilter runs{};
  std::vector<std::string> metrics{};  ///< names; empty: the headline of each case
  bool invalid_too = false;            ///< also cases that are not VALID
  stats::ChangeOptions changes{};
};

struct TrendPoint {
  std::size_t run = 0;  ///< in History::runs
  double value = 0;     ///< median over the rounds
  double low = 0;
  double high = 0;
  int rounds = 0;
  std::int64_t configuration = 0;  ///< its facts, in the index
};

enum class Direction { better, worse, other };

constexpr auto enum_names(Direction /*direction*/) {
  using enum Direction;
  return std::to_array<EnumName<Direction>>(
      {{better, "better"}, {worse, "worse"}, {other, "changed"}});
}

struct TrendChange {
  stats::ChangePoint point;  ///< `at` is an index into the trend's points
  Direction direction = Direction::other;
  /// Other differences from the previous run to the first of the new level; if there are none, the
  /// nearest ones, at most two runs away. The most telling first.
  std::vector<compare::Difference> differences{};
  std::size_t differs_at = 0;  ///< the point with which it changed
};

/// A metric of a case on a machine, over the runs.
struct Trend {
  std::string case_name;
  std::string machine;
  MetricInfo info;
  std::vector<TrendPoint> points{};  ///< in the order of the runs' beginnings; not empty
  std::vector<TrendChange> changes{};
  std::size_t left_out = 0;  ///< points that are not VALID

  [[nodiscard]] double level() const;  ///< since the last change: the median
};

struct History {
  std::vector<FoundRun> runs;  ///< all that fit the filter
  std::vector<Trend> trends;   ///< by case, machine and metric
};

/// Throws Error of kind usage for a metric that no run has. Copies of runs count once.
[[nodiscard]] History read_history(RunIndex& index, const TrendOptions& options);

/// Changes for the worse that last: the level now is worse than the one before the last change by
/// more than `worse_by`, a share. One sentence each.
[[nodiscard]] std::vector<std::string> worse_now(const History& history, double worse_by);

}  // namespace assay::history
