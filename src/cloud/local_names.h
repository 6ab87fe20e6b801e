#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cloud/obs.h"

namespace assay::cloud {

/// The suffix of a file's name while it is being fetched.
constexpr const char* kPartialSuffix = ".assay-partial";
/// The suffix for notes about its parts that have arrived.
constexpr const char* kNotesSuffix = ".assay-partial.json";

struct LocalName {
  ObjectInfo object;
  std::filesystem::path below;  ///< its path below a folder
};

/// The files for the objects below `prefix`. Leaves out empty objects whose keys end with "/",
/// which stand for folders. Throws Error if that is impossible: a key leads out of the folder or is
/// not a valid file name, two keys mean the same file ("a//b" and "a/b") or a file and a folder, or
/// an object with content has a folder's name. `where` names the store.
[[nodiscard]] std::vector<LocalName> local_names(const std::vector<ObjectInfo>& objects,
                                                 const std::string& prefix,
                                                 const std::string& where);

}  // namespace assay::cloud
