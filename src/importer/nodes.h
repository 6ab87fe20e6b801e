#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/diagnostic.h"

namespace assay::importer {

/// One machine of a node file.
struct ImportedNode {
  std::string host;
  std::string user;         ///< empty when the file does not name one
  std::optional<int> port;  ///< of its sshd
};

/// The cluster that a node file of another system describes.
struct NodesImport {
  std::string format;               ///< "ais-bench v1", "ais-bench v2", "FlagPerf cluster_conf"
  std::vector<ImportedNode> nodes;  ///< in node order
  std::optional<int> master_port;
  std::string cluster_yaml;  ///< the `cluster:` part of a suite, with comments
  std::vector<Diagnostic> diagnostics;
};

/// Reads an ais-bench node file (v1: {"cluster": {IP: {user, pd, port}}}, v2: {"0": {ip, user,
/// port, work_path}}) or FlagPerf's cluster_conf.py (by its name's .py; never executed). Passwords
/// are never copied and never shown. Settings that a suite has no place for are in the diagnostics.
/// Throws Error of kind config at file:line:column for what is wrong or contradictory (a host or id
/// twice, gaps between ids). `local_names` as in ImportOptions.
[[nodiscard]] NodesImport import_nodes(const std::filesystem::path& file,
                                       const std::vector<std::string>& local_names = {});

}  // namespace assay::importer
