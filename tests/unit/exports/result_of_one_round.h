#pragma once

#include "judge/result.h"

namespace assay::testing {

/// A result for live::testing::RunFolder.
inline judge::RunResult result_of_one_round() {
  judge::RunResult result;
  result.run_id = "run1";
  result.suite = "my suite";
  judge::CaseResult one;
  one.name = "c";
  one.headline = "p_whole";
  one.configuration.push_back({"config.batch_size", 32, "", ""});
  judge::RoundResult round;
  round.round = 1;
  round.status = RoundStatus::completed;
  round.validity = judge::Validity::valid;
  round.started = "2026-11-16T10:26:57Z";
  round.ended = "2026-11-16T10:27:57Z";
  judge::Metric metric;
  metric.info.name = "p_whole";
  metric.value = 12.5;
  round.metrics.push_back(metric);
  one.rounds.push_back(round);
  result.cases.push_back(one);
  return result;
}

}  // namespace assay::testing
