#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cloud/obs.h"

namespace assay::launch {

/// Which of a job's objects are its results, and where each goes below the round's folder for them.
struct ResultFiles {
  struct One {
    cloud::ObjectInfo object;
    std::filesystem::path below;
  };
  std::vector<One> files{};
  /// Results that cannot be files beside the others, each with why: a store has keys, and no
  /// folders.
  std::vector<std::string> impossible{};
};

/// `objects` are those below `prefix`. What is no JSON file, too large to be a result, or would
/// lead out of the folder is left out. Pure.
[[nodiscard]] ResultFiles result_files(const std::vector<cloud::ObjectInfo>& objects,
                                       const std::string& prefix);

}  // namespace assay::launch
