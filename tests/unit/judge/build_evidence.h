#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "judge/evidence.h"
#include "judge/judge_round.h"
#include "plan/plan.h"

namespace assay::judge::testing {

/// Monotonic and wall time at which every synthetic round begins (its first exec).
inline constexpr std::int64_t kMono0_ns = 5'000'000'000'000;
inline constexpr std::int64_t kWall0_ns = 1'790'000'000'000'000'000;

[[nodiscard]] Instant moment(double t_s);
[[nodiscard]] Stamp stamp(double t_s);       ///< both clocks
[[nodiscard]] Stamp wall_stamp(double t_s);  ///< time_ms only, as FlagPerf writes it

/// A rank that trains at a constant rate: exec at 0, TRAIN_START at `train_start`, then `steps`
/// steps of `step_s`, TRAIN_END with the last, exit at `exit_s` (one second after by default).
struct ConstantRate {
  double train_start = 2;
  int steps = 100;
  double step_s = 0.1;
  double samples = 32;
  std::optional<double> data_s = std::nullopt;
  std::optional<double> flops = std::nullopt;
  std::optional<double> exit_s = std::nullopt;
  bool monotonic = true;
};
[[nodiscard]] RankEvidence constant_rank(int rank, const ConstantRate& how = {});

/// Sets what RankLogReader finds out beside the content: first and last times, starts and ends.
void audit(RankLog& log);
/// What the log says about times from `from_s` on is moved by `by_s`, on both clocks.
void move_times(RankLog& log, double from_s, double by_s);

[[nodiscard]] plan::CasePlan case_plan(int nodes = 1, int procs = 1, int repeats = 1);
/// A completed round of these ranks on one node, without telemetry (telemetry switched off); its
/// files are listed, and as they were.
[[nodiscard]] RoundEvidence round_of(std::vector<RankEvidence> ranks);

/// Adds one telemetry row; the source is created when it is new.
void add_row(NodeEvidence& node, double t_s, const std::string& source,
             std::vector<std::pair<telemetry::Column, double>> values);

[[nodiscard]] std::optional<double> metric(const RoundResult& round, const std::string& name);
[[nodiscard]] std::string origin(const RoundResult& round, const std::string& name);
[[nodiscard]] const Finding* finding(const std::vector<Finding>& findings, const std::string& rule);
/// A rule that bounds `fact`, for tests of single rules.
[[nodiscard]] catalog::Rule rule(const std::string& id, const std::string& fact,
                                 std::optional<double> min, std::optional<double> max);

}  // namespace assay::judge::testing
