#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace assay::train {

// The files of checkpoints, whatever they hold: folders step<N>, and `latest`, which names one.

[[nodiscard]] std::filesystem::path step_folder(const std::filesystem::path& folder,
                                                std::int64_t step);

/// The steps that have a folder, ascending, complete or not.
[[nodiscard]] std::vector<std::int64_t> steps_in(const std::filesystem::path& folder);

/// Where a training goes on.
struct NewestStep {
  std::optional<std::int64_t> step;  ///< nothing: there is none
  std::string note;                  ///< what the user should know about the choice; may be empty
};

/// The step that `latest` names; when it is missing or empty, the newest that is complete. Throws
/// Error of kind environment, with the steps that are there, when it names none of them, or when
/// those that were complete once have lost files.
[[nodiscard]] NewestStep newest_step(const std::filesystem::path& folder);

/// What is kept about a file to see later whether it was changed: its size and CRC-32C.
[[nodiscard]] Json mark_of(const std::filesystem::path& file);

/// Throws Error of kind environment when `file` is not as the checkpoint's info says. One of before
/// these marks is taken as it is.
void require_unchanged(const Json& info, const std::filesystem::path& file);

/// Adds a checksum of `info` to it; sealed(info) says whether it is that of the rest. What has none
/// is of before them, and taken.
void seal(Json& info);
[[nodiscard]] bool sealed(const Json& info);
/// That checksum: of the checkpoint with all of its files; 0 for one of before.
[[nodiscard]] std::uint32_t seal_of(const Json& info);

/// Nobody else gets the folder's lock while the descriptor is open; none on a file system without
/// locks. Throws Error of kind environment that names the process that has it.
[[nodiscard]] std::optional<UniqueFd> lock_checkpoints(const std::filesystem::path& folder);

}  // namespace assay::train
