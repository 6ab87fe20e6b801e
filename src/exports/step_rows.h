#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "exports/logged_run.h"

namespace assay::exports {

/// What the ranks of a round logged in one step.
struct StepRow {
  struct Value {
    int rank = 0;
    live::MetricName name{};
    double value = 0;
    live::Scope scope = live::Scope::rank;  ///< with `item`, as in live::MetricSink
    int item = -1;
  };
  std::int64_t step = 0;  ///< 0 or above
  double t = 0;           ///< Unix seconds, when the last of the values was logged
  std::vector<Value> values{};
};

/// The curves of `logs`, which are of one round, step by step: steps only ever go up, each comes
/// once, with the values of all ranks. Numbers are the trainer's; where these go back (a training
/// that was taken up again, steps counted by epoch) they are counted on from the last one. Only as
/// much of each log is held in memory as the ranks are apart.
void read_step_rows(const RunFiles& files, const std::vector<live::LogFile>& logs,
                    const std::function<void(const StepRow&)>& on_row);

}  // namespace assay::exports
