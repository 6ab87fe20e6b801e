#pragma once

#include <memory>
#include <vector>

#include "agent/messages.h"
#include "agent/node_metrics.h"
#include "agent/rank_process.h"
#include "telemetry/recorder.h"

namespace assay::agent {

// The state of a node's ranks at one moment, for those who watch the round. `recorder` is null when
// nothing is sampled.

/// Leaves out the silent ranks and the head of the evidence.
[[nodiscard]] Heartbeat heartbeat_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                                     const telemetry::Recorder* recorder, const Instant& at);

/// Leaves out the case, the round and whether it runs.
[[nodiscard]] RoundMetrics metrics_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                                      const telemetry::Recorder* recorder, std::int64_t mono_ns);

}  // namespace assay::agent
