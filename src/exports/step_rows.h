#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "exports/logged_run.h"

namespace assay::exports {

/// The values logged by a round's ranks in one step.
struct StepRow {
  struct Value {
    int rank = 0;
    live::MetricName name{};
    double value = 0;
    live::Scope scope = live::Scope::rank;  ///< with `item`, as in live::MetricSink
    int item = -1;
  };
  std::int64_t step = 0;  ///< 0 or above
  double t = 0;           ///< Unix seconds at which the last value was logged
  std::vector<Value> values{};
};

/// The curves of `logs`, which belong to one round, step by step: steps only rise, and each occurs
/// once, with the values of all ranks. Numbers are the trainer's; where these fall (a resumed
/// training, steps counted by epoch), counting continues from the last one. Holds only as much of
/// each log in memory as the ranks are apart.
void read_step_rows(const RunFiles& files, const std::vector<live::LogFile>& logs,
                    const std::function<void(const StepRow&)>& on_row);

}  // namespace assay::exports
