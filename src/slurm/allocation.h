#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"

namespace assay::slurm {

/// A job's share of a node.
struct NodeAllocation {
  std::string node{};
  /// The numbers of its devices; if it has no generic resources, those of its processors.
  std::vector<int> devices{};

  bool operator==(const NodeAllocation&) const = default;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("devices", self.devices);
  }
};

/// The nodes that a job has.
struct Allocation {
  std::string job{};
  std::vector<NodeAllocation> nodes{};

  static void fields(auto& self, auto&& field) {
    field("job", self.job);
    field("nodes", self.nodes);
  }
};

/// "0-2,5": 0, 1, 2, 5. Empty for anything that is not such a list.
[[nodiscard]] std::vector<int> parse_indices(std::string_view text);

/// Reads `scontrol show job --details`. `expand` gives the names that a list such as "n[1-2]"
/// stands for.
[[nodiscard]] std::vector<NodeAllocation> parse_allocation(
    std::string_view details,
    const std::function<std::vector<std::string>(const std::string&)>& expand);

}  // namespace assay::slurm
