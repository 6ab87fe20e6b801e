#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::slurm {

/// A node, as sinfo shows it.
struct Node {
  std::string name{};
  std::string state{};  ///< "idle", "mixed", "allocated", "draining", "drained", "down", …
  bool answers = true;  ///< false: slurmctld has lost contact with it
  int processors = 0;
  // The first generic resource that has a count ("gpu:h200:8"):
  std::string device_kind{};  ///< "gpu"; empty if it has none
  std::string device_type{};  ///< "h200"; empty if it has no type
  int devices = 0;
  std::string reason{};     ///< why it is out of use; empty if no reason is given
  std::string reason_by{};  ///< the user who gave it
  std::vector<std::string> partitions{};

  /// Whether an administrator has taken it out of use: running jobs continue, but none begins.
  [[nodiscard]] bool drained() const noexcept { return state.starts_with("drain"); }
  /// Whether jobs can begin there, now or after those that run.
  [[nodiscard]] bool usable() const noexcept;
};

/// The arguments with which sinfo prints what parse_nodes() reads.
[[nodiscard]] std::string node_format();

/// Lists a node once, even if it belongs to several partitions. Pure.
[[nodiscard]] std::vector<Node> parse_nodes(std::string_view output);

}  // namespace assay::slurm
