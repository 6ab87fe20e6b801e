#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::agent {

/// Whether the kernel's page cache, dentries and inodes were dropped, and how, or why not.
struct CacheDrop {
  bool done = false;
  std::string how;  ///< "written by the agent", "by sudo", or the reason it was not done
};

/// The fallback when the file cannot be written: a command that a sudoers rule may allow.
[[nodiscard]] const std::vector<std::string>& drop_caches_by_sudo();

/// Syncs, then writes 3 to `root`/proc/sys/vm/drop_caches, or runs `fallback` if that is not
/// allowed. Blocks for at most about two minutes. Does not throw.
[[nodiscard]] CacheDrop drop_page_caches(
    const std::filesystem::path& root = "/",
    const std::vector<std::string>& fallback = drop_caches_by_sudo());

}  // namespace assay::agent
