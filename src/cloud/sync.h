#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "cloud/obs.h"

namespace assay::cloud {

struct LocalFile {
  std::filesystem::path path;
  std::uint64_t size = 0;
  std::string etag;  ///< the ETag it would have as an object
};

/// The changes that make the objects below a prefix equal to a folder.
struct SyncPlan {
  std::vector<std::string> upload;  ///< keys, in order
  std::vector<std::string> remove;
  std::size_t unchanged = 0;
};

/// Computes the changes; `local` is by key. Pure. A remote object that stands for a folder (empty,
/// ends with "/") is left alone while it is the prefix itself.
[[nodiscard]] SyncPlan plan_sync(const std::map<std::string, LocalFile>& local,
                                 const std::vector<ObjectInfo>& remote, const std::string& prefix);

struct SyncReport {
  std::size_t uploaded = 0;
  std::size_t unchanged = 0;
  std::size_t removed = 0;
  std::uint64_t uploaded_bytes = 0;
};

/// Hash of the names, sizes and contents of all that sync_folder would upload: 64 hex digits.
/// Throws Error.
[[nodiscard]] std::string folder_hash(const std::filesystem::path& folder);

/// Makes the objects whose keys start with `prefix` (not empty, ends with "/") equal to the regular
/// files below `folder`: by content, not by time. Files go several at once; nothing is removed
/// before all is uploaded. Links to files are followed, links to folders are not. Throws Error;
/// what was done until then stays, and a second call goes on from there.
SyncReport sync_folder(ObsBucket& bucket, const std::filesystem::path& folder,
                       const std::string& prefix, const std::stop_token& stop = {});

}  // namespace assay::cloud
