#pragma once

#include <filesystem>
#include <optional>

#include "core/files.h"

namespace assay {

/// Takes the lock that `file` is, which is made (for its owner alone) where it is missing: nobody
/// else has it until the descriptor is closed or this process ends, however it ends. Nothing when
/// somebody has it. Throws Error of kind environment when the file cannot be opened or locked.
[[nodiscard]] std::optional<UniqueFd> try_lock_file(const std::filesystem::path& file);

}  // namespace assay
