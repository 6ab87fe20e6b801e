#pragma once

#include <filesystem>
#include <string>

namespace assay::pack {

/// Whether `path` is a packed run, or the remains of an archived one.
[[nodiscard]] bool is_packed(const std::filesystem::path& path);

/// Opens a packed run (a file of 'assay pack', or the folder of an archived run) as `folder`/run
/// and gives that folder. Throws Error: of kind invalid for files that are not what was packed, and
/// what extract and store::read_archived throw.
[[nodiscard]] std::filesystem::path open_packed(const std::filesystem::path& path,
                                                const std::filesystem::path& folder);

}  // namespace assay::pack
