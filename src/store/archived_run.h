#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace assay::store {

/// What says that a run's files were packed ('assay archive'). The folder of an archived run holds
/// this file, result.json, what people and commands wrote beside the evidence, and the packed run
/// unless that lies elsewhere; it has no plan.json.
inline constexpr std::string_view kArchivedFile = "archived.json";

struct ArchivedRun {
  std::string run_id;
  std::filesystem::path pack;  ///< absolute
  std::uint64_t pack_bytes = 0;
  std::uint64_t files = 0;  ///< that it holds
  std::uint64_t bytes = 0;  ///< of these files
  std::string digest;       ///< of all of them: pack::digest
  std::string archived_at;  ///< ISO, UTC
};

/// Whether `folder` is what is left of an archived run.
[[nodiscard]] bool is_archived(const std::filesystem::path& folder);

/// Throws Error of kind config for what cannot be understood or is of a newer version.
[[nodiscard]] ArchivedRun read_archived(const std::filesystem::path& folder);

/// A pack inside of `folder` is written down by its name alone, so that the folder can be moved.
void write_archived(const std::filesystem::path& folder, const ArchivedRun& run);

}  // namespace assay::store
