#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace assay::aisbench {

struct PackOptions {
  std::filesystem::path source;     ///< a package folder, or the content of its code/
  std::filesystem::path output;     ///< NAME.tar.gz; its top folder is NAME
  std::filesystem::path ais_utils;  ///< the ais_utils.py to add if the package has none
  bool modelarts = false;           ///< set RUNTYPE to modelarts
  bool allow_secrets = false;
};

struct PackReport {
  std::size_t files = 0;
  std::uintmax_t bytes = 0;        ///< of the archive
  std::string sha256;              ///< of the archive
  std::string commit;              ///< of the source; empty if it is not a git checkout
  std::vector<std::string> notes;  ///< what was added or changed
};

/// Builds a workload package: code/ with its configuration, every file executable for its owner;
/// code/doc/version.txt and, if the checkout has changes, their patch; and log/, result/ and tmp/,
/// which are empty. The package leaves out .git, __pycache__, work/ and the content of those three.
/// The same source gives the same bytes. Throws Error of kind config at FILE:LINE if a file holds a
/// secret, and of kind usage if the source has no benchmark.sh.
[[nodiscard]] PackReport pack_package(const PackOptions& options);

/// Finds the keys and passwords in a folder that are not empty, as "FILE:LINE: NAME". Their values
/// are never part of the answer.
[[nodiscard]] std::vector<std::string> find_secrets(const std::filesystem::path& folder);

}  // namespace assay::aisbench
