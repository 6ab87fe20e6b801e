#pragma once

#include <filesystem>
#include <functional>

namespace assay::train::tokens {

/// Calls `found` for each file below `folder`, all the way down and in any order, whose name
/// `wanted` accepts. Links are followed. Throws Error of kind environment that names it: a link
/// that leads to nothing or back to a folder above it, a wanted name that is no regular file, a
/// folder that cannot be listed.
void each_file_below(const std::filesystem::path& folder,
                     const std::function<bool(const std::filesystem::path&)>& wanted,
                     const std::function<void(const std::filesystem::path&)>& found);

}  // namespace assay::train::tokens
