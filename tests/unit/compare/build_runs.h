#pragma once

#include <string>
#include <vector>

#include "compare/comparison.h"

namespace assay::compare {

// Runs as judging gives them, of a few numbers.

inline const MetricInfo kSpeed{"steady_throughput", "samples/s", Better::higher, ""};

inline judge::CaseResult make_case(const std::string& name, const std::vector<double>& speeds,
                                   const MetricInfo& info = kSpeed) {
  judge::CaseResult result;
  result.name = name;
  result.model = name;
  result.validity = judge::Validity::valid;
  result.headline = info.name;
  judge::Summary summary;
  summary.info = info;
  result.summary.push_back(summary);
  for (const double speed : speeds) {
    judge::RoundResult round;
    round.status = RoundStatus::completed;
    judge::Metric metric;
    metric.info = info;
    metric.value = speed;
    round.metrics.push_back(metric);
    result.rounds.push_back(round);
  }
  return result;
}

/// The steps of a round that its metric is computed from.
inline void set_steps(judge::RoundResult& round, std::vector<double> seconds) {
  for (judge::Metric& metric : round.metrics) {
    metric.ci95_low = metric.value;  // that there is an interval says that it is from steps
    metric.ci95_high = metric.value;
  }
  round.steady_steps = {std::move(seconds)};
}

inline judge::RunResult make_run(std::vector<judge::CaseResult> cases) {
  judge::RunResult run;
  run.run_id = "run";
  run.cases = std::move(cases);
  return run;
}

inline Comparisons compared(const judge::RunResult& base, const judge::RunResult& candidate,
                            const Options& options = {}) {
  const Side other{"new", {candidate}};
  return compare_sides({"base", {base}}, std::span(&other, 1), options);
}

inline Comparison of(const judge::RunResult& base, const judge::RunResult& candidate,
                     const Options& options = {}) {
  return compared(base, candidate, options).sides.at(0);
}

/// Several runs on each side.
inline Comparison side_of(const std::vector<judge::RunResult>& base,
                          const std::vector<judge::RunResult>& candidate) {
  const Side other{"new", candidate};
  return compare_sides({"base", base}, std::span(&other, 1), {}).sides.at(0);
}

inline MetricChange headline(const std::vector<double>& base,
                             const std::vector<double>& candidate) {
  const Comparison found =
      of(make_run({make_case("a", base)}), make_run({make_case("a", candidate)}));
  return found.cases.at(0).metrics.at(0);
}

}  // namespace assay::compare
