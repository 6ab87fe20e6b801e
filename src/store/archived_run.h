#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

/// Marks a run whose files were packed ('assay archive'). The folder of an archived run holds this
/// file, result.json, anything written beside the evidence, and the packed run unless it is stored
/// elsewhere; it has no plan.json.
inline constexpr std::string_view kArchivedFile = "archived.json";

struct ArchivedRun {
  std::string run_id;
  std::filesystem::path pack;  ///< absolute
  std::uint64_t pack_bytes = 0;
  std::uint64_t files = 0;  ///< number of packed files
  std::uint64_t bytes = 0;  ///< size of these files
  std::string digest;       ///< over all of them: pack::digest
  std::string archived_at;  ///< ISO, UTC
};

/// Whether `folder` holds the remains of an archived run.
[[nodiscard]] bool is_archived(const std::filesystem::path& folder);

/// Throws Error of kind config if the file is malformed or of a newer version.
[[nodiscard]] ArchivedRun read_archived(const std::filesystem::path& folder);

/// Stores only the name of a pack inside `folder`, so that the folder can be moved.
void write_archived(const std::filesystem::path& folder, const ArchivedRun& run);

}  // namespace assay::store
