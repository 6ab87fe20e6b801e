#pragma once

#include "jobs/scheduler.h"

namespace assay::jobs {

inline constexpr WallTime kSecondNs = 1'000'000'000;
inline constexpr WallTime kHourNs = 3600 * kSecondNs;

inline std::vector<ClusterNode> nodes_of(int count, int devices, const std::string& type = "H200",
                                         const std::string& prefix = "n") {
  std::vector<ClusterNode> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({prefix + std::to_string(i + 1), type, devices, true});
  return nodes;
}

/// Of user "ann" in team "vision"; submitted at its id in seconds, so that lower ids come first.
inline Request request_of(JobId id, int nodes, int devices, int hours = 1) {
  Request request;
  request.id = id;
  request.user = "ann";
  request.team = "vision";
  request.queue = "default";
  request.priority = 100;
  request.waiting_since_ns = id * kSecondNs;
  request.nodes = nodes;
  request.devices = devices;
  request.time = std::chrono::hours(hours);
  return request;
}

inline Occupant occupant_of(const Request& request, std::vector<std::string> nodes,
                            WallTime since_ns) {
  Occupant occupant{request, {}, since_ns, 0};
  for (std::string& node : nodes) occupant.placement.push_back({std::move(node), request.devices});
  return occupant;
}

}  // namespace assay::jobs
