#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::aisbench {

struct PackOptions {
  std::filesystem::path source;     ///< a package folder, or the content of its code/
  std::filesystem::path output;     ///< NAME.tar.gz; its top folder is NAME
  std::filesystem::path ais_utils;  ///< the ais_utils.py that is added where there is none
  bool modelarts = false;           ///< RUNTYPE becomes modelarts
  bool allow_secrets = false;
};

struct PackReport {
  std::size_t files = 0;
  std::uintmax_t bytes = 0;        ///< of the archive
  std::string sha256;              ///< of the archive
  std::string commit;              ///< of the source, or empty: no git checkout
  std::vector<std::string> notes;  ///< what was added or changed
};

/// Builds a workload package: code/ with every file executable for its owner, its configuration,
/// code/doc/version.txt and, when the checkout has changes, their patch; empty log/, result/ and
/// tmp/. The same source gives the same bytes. Left out: .git, __pycache__, log/, result/, tmp/ and
/// work/. Throws Error of kind config at FILE:LINE when a file holds a secret, and of kind usage
/// when the source has no benchmark.sh.
[[nodiscard]] PackReport pack_package(const PackOptions& options);

/// Places "FILE:LINE: NAME" in the folder where a key or password is not empty. Never its value.
[[nodiscard]] std::vector<std::string> find_secrets(const std::filesystem::path& folder);

}  // namespace assay::aisbench
