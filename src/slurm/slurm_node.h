#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::slurm {

/// A node as sinfo shows it.
struct Node {
  std::string name{};
  std::string state{};  ///< "idle", "mixed", "allocated", "draining", "drained", "down", …
  bool answers = true;  ///< false: slurmctld does not hear from it
  int processors = 0;
  // Its first generic resource with a count ("gpu:h200:8"):
  std::string device_kind{};  ///< "gpu"; empty: it has none
  std::string device_type{};  ///< "h200"; empty: it has no type
  int devices = 0;
  std::string reason{};     ///< why it is not used; empty: none is given
  std::string reason_by{};  ///< the user who gave it
  std::vector<std::string> partitions{};

  /// Whether somebody has taken it out of use: running jobs continue, no new ones begin.
  [[nodiscard]] bool drained() const noexcept { return state.starts_with("drain"); }
  /// Whether jobs can begin there, now or when those before them have ended.
  [[nodiscard]] bool usable() const noexcept;
};

/// What sinfo is asked, so that parse_nodes() can read its answer.
[[nodiscard]] std::string node_format();

/// A node of several partitions is there once. Pure.
[[nodiscard]] std::vector<Node> parse_nodes(std::string_view output);

}  // namespace assay::slurm
