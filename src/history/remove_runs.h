#pragma once

#include <cstdint>
#include <filesystem>

namespace assay::history {

/// Bytes that the files below a folder take on the disk; links are not followed, and a file with
/// several names counts once a name.
[[nodiscard]] std::uint64_t disk_use(const std::filesystem::path& folder);

/// Throws Error of kind usage unless `path` is itself the folder of a run that is not going on: not
/// a link, with a plan.json that is a plain file.
void check_removable(const std::filesystem::path& path);

/// Removes a run. It disappears at once and then goes file by file, so that nobody sees a part of
/// one; links in it are removed and not followed. While it does so the run is locked: nobody can
/// resume it. `latest` goes with the run that it points at. Throws what check_removable throws, and
/// Error of kind environment.
void remove_run(const std::filesystem::path& path);

/// What removals that were cut off have left in a folder of results. The number of runs.
std::size_t finish_removals(const std::filesystem::path& results);

}  // namespace assay::history
