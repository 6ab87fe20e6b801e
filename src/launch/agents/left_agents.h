#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"

namespace assay::launch {

/// Host → the names (core/process_name.h) of processes of agents.
using AgentsByHost = std::map<std::string, std::set<std::string>>;

/// Pure: the agents of a run that nobody is known to have ended: those that its journal names after
/// the last `run_end`. A controller that was killed leaves them to end by themselves, which they
/// cannot while they are stopped.
[[nodiscard]] AgentsByHost left_agents(const std::vector<Json>& journal);

/// Pure: the scheduler's jobs (agent::Hello::job) of those agents.
[[nodiscard]] std::set<std::string> left_jobs(const std::vector<Json>& journal);

}  // namespace assay::launch
