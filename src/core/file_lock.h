#pragma once

#include <filesystem>
#include <optional>

#include "core/files.h"

namespace assay {

/// Locks `file`, creating it (for its owner alone) where it is missing. The lock is held until the
/// descriptor is closed or this process ends, however it ends. Returns nothing when somebody else
/// holds it. Throws Error of kind environment when the file cannot be opened or locked.
[[nodiscard]] std::optional<UniqueFd> try_lock_file(const std::filesystem::path& file);

}  // namespace assay
