#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "client/connection.h"
#include "code/folder_manifest.h"

namespace assay::client {

struct CodeUpload {
  std::string id{};       ///< for a submission's "code"
  std::size_t files = 0;  ///< contents that the server did not have
  std::uint64_t bytes = 0;
};

/// Sends what the server does not have of a folder that was scanned. One that was interrupted goes
/// on where it was when it is called again. Throws as Connection does; Error of kind environment
/// when a file has changed since it was scanned.
[[nodiscard]] CodeUpload send_code(
    const Connection& connection, const std::filesystem::path& folder,
    const code::Manifest& manifest,
    const std::function<void(std::uint64_t done, std::uint64_t total)>& progress = {});

}  // namespace assay::client
