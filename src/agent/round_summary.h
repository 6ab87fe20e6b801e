#pragma once

#include <memory>
#include <vector>

#include "agent/messages.h"
#include "agent/node_metrics.h"
#include "agent/rank_process.h"
#include "telemetry/recorder.h"

namespace assay::agent {

// What a node's ranks do at one moment, for those who watch the round. `recorder` may be null:
// nothing is sampled.

/// Without what is silent, and without the head of the evidence.
[[nodiscard]] Heartbeat heartbeat_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                                     const telemetry::Recorder* recorder, const Instant& at);

/// Without the case, the round and whether it runs.
[[nodiscard]] RoundMetrics metrics_of(const std::vector<std::unique_ptr<RankProcess>>& ranks,
                                      const telemetry::Recorder* recorder, std::int64_t mono_ns);

}  // namespace assay::agent
