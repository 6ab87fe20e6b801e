#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/connectivity.h"
#include "core/json.h"
#include "probe/check.h"
#include "probe/listing.h"

namespace assay::launch {

// What only the cluster as a whole shows. Pure; nodes are numbers, `hosts` their names in order.

/// The most frequent value; of several, the one that the lowest node has. Empty when there is none.
[[nodiscard]] std::string majority(const std::map<int, std::string>& by_node);

/// "alike" for every node: kernel, OS, driver, devices, CPU, cores and memory against what most
/// nodes have; a WARN names what differs. Memory may differ by 2 %.
[[nodiscard]] std::map<int, probe::Check> compare_systems(const std::map<int, Json>& systems);

/// "data" for every node that has listings: a FAIL where a path is missing, cannot be read or does
/// not hold what most nodes have.
[[nodiscard]] std::map<int, probe::Check> compare_listings(
    const std::map<int, std::vector<probe::Listing>>& listings,
    const std::vector<std::string>& hosts);

/// Above this many nodes not every pair is tried.
inline constexpr int kAllPairs = 32;

/// The nodes that each node connects to: all others, or with more than kAllPairs nodes the next one
/// (a ring) and, to and from the first, all (a star).
[[nodiscard]] std::map<int, std::vector<int>> connection_plan(const std::vector<int>& nodes);

/// "connect" for every node that tried: a FAIL names both ends of every connection that was not
/// made.
[[nodiscard]] std::map<int, probe::Check> check_connections(
    const std::map<int, std::vector<agent::Reached>>& results,
    const std::vector<std::string>& hosts);

}  // namespace assay::launch
