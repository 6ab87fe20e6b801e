#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/embedded_node.h"
#include "engine/engine.h"

namespace assay::engine {

/// As `user` of a node's access: the user of the job's owner.
inline constexpr const char* kOwnersUser = "{owner}";

/// A job's suite on its nodes.
struct PlacedSuite {
  std::string text{};              ///< the suite as it was submitted
  std::vector<std::string> set{};  ///< what the placement decides over it, as --set of `assay run`
  std::string remote_work{};       ///< ControllerTask::remote_work
  std::vector<int> processors{};   ///< ControllerTask::processors
  /// ControllerTask::secrets
  std::map<std::string, std::string> secrets{};
  bool remote = false;  ///< ssh reaches its nodes
  /// Of the controller's process: which devices it may count and its ranks may use.
  std::map<std::string, std::string> env{};
};

/// The placement wins over what the suite says of launchers and hosts. `nodes` are those of the
/// placement, in its order; `devices` of each of them the indices; `ssh` as cluster.ssh of a suite.
/// What was uploaded is brought to remote nodes, unless a case names its own folder.
/// Pure but for that folder's name.
[[nodiscard]] PlacedSuite place_suite(const Order& order, const std::vector<EmbeddedNode>& nodes,
                                      const std::map<std::string, std::vector<int>>& devices,
                                      const Json& ssh = Json::object());

/// The same where Slurm places it: its controller finds itself in the allocation.
[[nodiscard]] PlacedSuite suite_in_slurm(const Order& order);

/// "env.ASSAY_DEVICES=0,1", as --set of `assay run`.
[[nodiscard]] std::string devices_setting(const std::vector<int>& devices);

}  // namespace assay::engine
