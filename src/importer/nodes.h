#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

/// A machine in a node file.
struct ImportedNode {
  std::string host;
  std::string user;         ///< empty if the file has none
  std::optional<int> port;  ///< its sshd's
};

/// The cluster described by another system's node file.
struct NodesImport {
  std::string format;               ///< "ais-bench v1", "ais-bench v2", "FlagPerf cluster_conf"
  std::vector<ImportedNode> nodes;  ///< in node order
  std::optional<int> master_port;
  std::string cluster_yaml;  ///< a suite's `cluster:` part, with comments
  std::vector<Diagnostic> diagnostics;
};

/// Reads an ais-bench node file (v1: {"cluster": {IP: {user, pd, port}}}, v2: {"0": {ip, user,
/// port, work_path}}) or FlagPerf's cluster_conf.py (recognized by .py; never executed). Passwords
/// are never copied or shown. Settings without a place in a suite are in the diagnostics. Throws
/// Error of kind config at file:line:column for invalid or contradictory content (a repeated host
/// or id, gaps between ids). `local_names` is as in ImportOptions.
[[nodiscard]] NodesImport import_nodes(const std::filesystem::path& file,
                                       const std::vector<std::string>& local_names = {});

}  // namespace assay::importer
