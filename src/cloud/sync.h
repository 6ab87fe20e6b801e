#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "cloud/obs.h"

namespace assay::cloud {

/// Files by the names that they have below a folder, with "/": what is uploaded, whatever the place
/// of each.
using FolderFiles = std::map<std::string, std::filesystem::path>;

/// What of a folder is uploaded.
struct FolderContent {
  FolderFiles files;
  std::vector<std::string> left_out{};  ///< secrets first; of a folder only its name
};

/// The regular files below `folder` that code::FolderRules send, without its .assayignore and
/// without `key_file`, which has the secrets of the store itself and goes nowhere, whatever its
/// name. Links are followed, to files and to folders. Pipes, sockets and devices have no content
/// and are left out. Throws Error, also for a link that leads nowhere or to a folder around it.
[[nodiscard]] FolderContent content_of(const std::filesystem::path& folder,
                                       const std::filesystem::path& key_file = {});

/// One line about what is left out; empty when nothing is.
[[nodiscard]] std::string left_out_line(const FolderContent& content);

/// Hash of the names, sizes and contents: 64 hex digits. Throws Error.
[[nodiscard]] std::string hash_of(const FolderFiles& files);

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

struct SyncOptions {
  bool remove = true;    ///< what is below the prefix and not among the files
  bool pretend = false;  ///< only say what would be done
  std::stop_token stop{};
  /// Bytes of whole files that were sent, of all that are to be; from any thread, one at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

struct SyncReport {
  std::size_t uploaded = 0;
  std::size_t unchanged = 0;
  std::size_t removed = 0;
  std::uint64_t uploaded_bytes = 0;
};

/// Makes the objects whose keys start with `prefix` (not empty, ends with "/") equal to `files`: by
/// content, not by time. Files go several at once; nothing is removed before all is uploaded.
/// Throws Error; what was done until then stays, and a second call goes on from there.
SyncReport sync_files(ObsBucket& bucket, const FolderFiles& files, const std::string& prefix,
                      const SyncOptions& options = {});

}  // namespace assay::cloud
