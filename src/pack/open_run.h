#pragma once

#include <filesystem>
#include <string>

namespace assay::pack {

/// Whether `path` is a packed run, or the remains of an archived one.
[[nodiscard]] bool is_packed(const std::filesystem::path& path);

/// Opens a packed run (a file from 'assay pack', or an archived run's folder) as `folder`/run and
/// returns that folder. Throws Error of kind invalid if files differ from what was packed, and
/// whatever extract and store::read_archived throw.
[[nodiscard]] std::filesystem::path open_packed(const std::filesystem::path& path,
                                                const std::filesystem::path& folder);

}  // namespace assay::pack
