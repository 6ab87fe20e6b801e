#pragma once

#include <filesystem>
#include <functional>

namespace assay::train::tokens {

/// Calls `found` for each file below `folder`, at any depth and in any order, whose name `wanted`
/// accepts. Follows links. Throws Error of kind environment that names the obstacle: a link that
/// leads nowhere or to an enclosing folder, a wanted name that is not a regular file, an unreadable
/// folder.
void each_file_below(const std::filesystem::path& folder,
                     const std::function<bool(const std::filesystem::path&)>& wanted,
                     const std::function<void(const std::filesystem::path&)>& found);

}  // namespace assay::train::tokens
