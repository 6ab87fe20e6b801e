#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "code/folder_manifest.h"

namespace assay::code {

struct ScanOptions {
  Limits limits{};
  bool send_secrets = false;
  /// Bytes that were read, of all.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

struct Scan {
  Manifest manifest{};                 ///< in the order of the paths
  std::vector<std::string> secrets{};  ///< left out, because they look like secrets
  std::vector<std::string> special{};  ///< left out: sockets, pipes, devices
  std::vector<std::string> runs{};     ///< left out: run directories of Assay
};

/// What of a folder is to be sent, with its hashes. Throws Error of kind usage for a folder that
/// cannot be sent, with all names: links that lead out of it, too much, names that are no text.
/// FolderRules say what is sent.
[[nodiscard]] Scan scan_folder(const std::filesystem::path& folder, const ScanOptions& options);

}  // namespace assay::code
