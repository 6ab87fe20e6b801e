#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cloud/obs.h"

namespace assay::cloud {

/// What a file that is fetched is called until it is whole: its own name, and this.
constexpr const char* kPartialSuffix = ".assay-partial";
/// And the notes about the parts of it that are here.
constexpr const char* kNotesSuffix = ".assay-partial.json";

struct LocalName {
  ObjectInfo object;
  std::filesystem::path below;  ///< the file that it becomes, below a folder
};

/// The files that the objects below `prefix` become. Empty objects whose keys end with "/" stand
/// for folders and are left out. Throws Error when that cannot be: a key leads out of the folder,
/// or has a name that no file can have; two keys are one file ("a//b" and "a/b"), or a file and a
/// folder; an object has content and the name of a folder. `where` names the store.
[[nodiscard]] std::vector<LocalName> local_names(const std::vector<ObjectInfo>& objects,
                                                 const std::string& prefix,
                                                 const std::string& where);

}  // namespace assay::cloud
