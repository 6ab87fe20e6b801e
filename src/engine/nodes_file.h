#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "engine/embedded_node.h"

namespace assay::engine {

/// The machines of the embedded engine, as an administrator lists them (docs/platform.md):
///
///     nodes:
///       - {name: gpu1, address: 10.0.0.1, vendor: nvidia, device_type: H200, devices: 8}
///     ssh: {user: train}        # as cluster.ssh of a suite
struct NodesFile {
  std::vector<EmbeddedNode> nodes{};  ///< at least one; all are reached by ssh
  Json ssh = Json::object();          ///< as cluster.ssh of a suite
};

/// Throws Error of kind config at file:line:column.
[[nodiscard]] NodesFile parse_nodes_file(std::string_view yaml, const std::string& file);
[[nodiscard]] NodesFile read_nodes_file(const std::filesystem::path& file);

}  // namespace assay::engine
