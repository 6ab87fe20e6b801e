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
  /// The numbers of its devices, or of its processors if it has no generic resources.
  std::vector<int> devices{};

  bool operator==(const NodeAllocation&) const = default;
  static void fields(auto& self, auto&& field) {
    field("node", self.node);
    field("devices", self.devices);
  }
};

/// A job's nodes.
struct Allocation {
  std::string job{};
  std::vector<NodeAllocation> nodes{};

  static void fields(auto& self, auto&& field) {
    field("job", self.job);
    field("nodes", self.nodes);
  }
};

/// Reads "0-2,5" as 0, 1, 2, 5. Anything else gives an empty list.
[[nodiscard]] std::vector<int> parse_indices(std::string_view text);

/// Reads the output of `scontrol show job --details`. `expand` turns a list such as "n[1-2]" into
/// names.
[[nodiscard]] std::vector<NodeAllocation> parse_allocation(
    std::string_view details,
    const std::function<std::vector<std::string>(const std::string&)>& expand);

}  // namespace assay::slurm
