#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/columns.h"

namespace assay::agent {

// An agent's knowledge at one moment, for Prometheus; docs/telemetry.md lists the names.

struct RankMetrics {
  enum class State : std::uint8_t { waiting, running, succeeded, failed };
  int rank = 0;
  State state = State::waiting;
  std::uint64_t steps = 0;
  std::uint64_t epochs = 0;
  std::uint64_t trials = 0;
  std::uint64_t output_bytes = 0;
  double idle_s = 0;  ///< since its last output; set only while it runs
  std::optional<std::int64_t> step;
  std::optional<double> samples;
  std::optional<double> loss;
  std::optional<double> accuracy;
  std::optional<double> best_accuracy;
};

/// The newest row of one source of telemetry.csv.
struct SourceMetrics {
  std::string source;
  telemetry::Values values;
};

struct RoundMetrics {
  std::string case_name;
  int round = 0;
  bool running = false;
  bool automl = false;  ///< its ranks reported which trial they train
  std::vector<RankMetrics> ranks;
  std::vector<SourceMetrics> sources;
  std::optional<double> power_w;  ///< of the node, with nothing counted twice
};

struct AgentMetrics {
  std::string host;
  std::string version;
  double cpu_s = 0;  ///< of the agent itself
  std::int64_t resident_bytes = 0;
  std::uint64_t requests = 0;
  std::uint64_t evicted = 0;          ///< connections closed to make room
  std::optional<RoundMetrics> round;  ///< the running round, else the last one
};

/// Text exposition format 0.0.4. An unknown value has no line; it never appears as zero.
[[nodiscard]] std::string render_metrics(const AgentMetrics& metrics);

}  // namespace assay::agent
