#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/json.h"

namespace assay::train {

// The files of checkpoints, whatever their content: folders step<N>, and `latest`, naming one.

[[nodiscard]] std::filesystem::path step_folder(const std::filesystem::path& folder,
                                                std::int64_t step);

/// The steps with a folder, ascending, whether or not complete.
[[nodiscard]] std::vector<std::int64_t> steps_in(const std::filesystem::path& folder);

/// The step from which a training resumes.
struct NewestStep {
  std::optional<std::int64_t> step;  ///< nothing if there is none
  std::string note;                  ///< information for the user about the choice; may be empty
};

/// The step named by `latest`; if that is missing or empty, the newest complete one. Throws Error
/// of kind environment, listing the existing steps, if it names none of them, or if steps that were
/// once complete have lost files.
[[nodiscard]] NewestStep newest_step(const std::filesystem::path& folder);

/// A record that reveals later changes of a file: its size and CRC-32C.
[[nodiscard]] Json mark_of(const std::filesystem::path& file);

/// Throws Error of kind environment if `file` does not match the checkpoint's info. A checkpoint
/// without such records is accepted.
void require_unchanged(const Json& info, const std::filesystem::path& file);

/// Adds a checksum of `info` to it; sealed(info) verifies it against the rest. An older one without
/// a checksum is accepted.
void seal(Json& info);
[[nodiscard]] bool sealed(const Json& info);
/// That checksum, which covers the checkpoint with all its files; 0 for an older one.
[[nodiscard]] std::uint32_t seal_of(const Json& info);

/// Locks the folder while the descriptor is open; returns nothing on a file system without locks.
/// Throws Error of kind environment that names the process holding it.
[[nodiscard]] std::optional<UniqueFd> lock_checkpoints(const std::filesystem::path& folder);

}  // namespace assay::train
