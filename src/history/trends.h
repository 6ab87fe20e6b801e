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
  bool invalid_too = false;            ///< include cases that are not VALID
  stats::ChangeOptions changes{};
};

struct TrendPoint {
  std::size_t run = 0;  ///< index into History::runs
  double value = 0;     ///< median over rounds
  double low = 0;
  double high = 0;
  int rounds = 0;
  std::int64_t configuration = 0;  ///< index id of its facts
};

enum class Direction { better, worse, other };

constexpr auto enum_names(Direction /*direction*/) {
  using enum Direction;
  return std::to_array<EnumName<Direction>>(
      {{better, "better"}, {worse, "worse"}, {other, "changed"}});
}

struct TrendChange {
  stats::ChangePoint point;  ///< `at` indexes the trend's points
  Direction direction = Direction::other;
  /// Other changes, from the preceding run to the first of the new level; if there are none, the
  /// nearest ones, at most two runs away. Most significant first.
  std::vector<compare::Difference> differences{};
  std::size_t differs_at = 0;  ///< index of the point where they occurred
};

/// A metric of a case on a machine, over runs.
struct Trend {
  std::string case_name;
  std::string machine;
  MetricInfo info;
  std::vector<TrendPoint> points{};  ///< in the order in which the runs began; not empty
  std::vector<TrendChange> changes{};
  std::size_t left_out = 0;  ///< number of points that are not VALID

  [[nodiscard]] double level() const;  ///< median since the last change
};

struct History {
  std::vector<FoundRun> runs;  ///< all that match the filter
  std::vector<Trend> trends;   ///< by case, machine and metric
};

/// Throws Error of kind usage for a metric that no run has. Counts copies of runs once.
[[nodiscard]] History read_history(RunIndex& index, const TrendOptions& options);

/// Lasting changes for the worse: the current level is worse than the one before the last change by
/// more than the share `worse_by`. One sentence each.
[[nodiscard]] std::vector<std::string> worse_now(const History& history, double worse_by);

}  // namespace assay::history
