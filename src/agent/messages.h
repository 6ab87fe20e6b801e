#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/time.h"
#include "probe/check.h"
#include "telemetry/device_source.h"

namespace assay::agent {

// What controller and agent say to each other; docs/dev/agent-protocol.md describes every message.

/// One process that the agent starts.
struct RankRequest {
  int rank = 0;
  int local_rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<std::string> cleanup{};  ///< run when the rank did not end well; may be empty
};

/// controller → agent: run these ranks and record the evidence in `directory`.
struct RoundRequest {
  std::string id;  ///< unique over all runs; every rank carries it as ASSAY_ROUND_ID
  std::filesystem::path directory;
  bool fresh = false;   ///< what an earlier attempt left in `directory` is removed first
  std::string workdir;  ///< empty: the agent's
  std::map<std::string, std::string> files;  ///< name in `directory` → content
  std::map<std::string, std::string> env;    ///< common to all ranks
  std::vector<RankRequest> ranks;
  Nanoseconds time_limit{};
  Nanoseconds stall_limit{};  ///< 0: off
  Nanoseconds grace{};
  std::uint64_t output_limit = 0;
  Nanoseconds telemetry_interval{};  ///< 0: off
  std::vector<telemetry::DeviceSource> sources;
  std::string case_name;  ///< with `round`, names the round to people
  int round = 0;
  std::string metrics;  ///< "127.0.0.1:9400": offer the round's metrics there; empty: nowhere
};

[[nodiscard]] Json to_json(const RoundRequest& request);
/// Throws Error of kind internal when a field is missing or of the wrong type.
[[nodiscard]] RoundRequest round_request_from_json(const Json& json);

/// controller → agent: is this machine fit?
[[nodiscard]] Json to_json(const probe::CheckOptions& options);
[[nodiscard]] probe::CheckOptions check_options_from_json(const Json& json);

}  // namespace assay::agent
