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

/// Files to upload, by their names below a folder, with "/", wherever each is located.
using FolderFiles = std::map<std::string, std::filesystem::path>;

/// The part of a folder to upload.
struct FolderContent {
  FolderFiles files;
  std::vector<std::string> left_out{};  ///< secrets first; only the name for a folder
};

/// The regular files below `folder` that code::FolderRules select, without its .assayignore and
/// without `key_file`, which contains the store's own secrets and is never uploaded, whatever its
/// name. Follows links to files and folders. Leaves out pipes, sockets and devices, which have no
/// content. Throws Error, also for a link that leads nowhere or to an enclosing folder.
[[nodiscard]] FolderContent content_of(const std::filesystem::path& folder,
                                       const std::filesystem::path& key_file = {});

/// A line about what is left out; empty if nothing is.
[[nodiscard]] std::string left_out_line(const FolderContent& content);

/// Hash of names, sizes and contents: 64 hex digits. Throws Error.
[[nodiscard]] std::string hash_of(const FolderFiles& files);

struct LocalFile {
  std::filesystem::path path;
  std::uint64_t size = 0;
  std::string etag;  ///< the ETag that it would have as an object
};

/// The changes that make the objects below a prefix equal to a folder.
struct SyncPlan {
  std::vector<std::string> upload;  ///< keys, in order
  std::vector<std::string> remove;
  std::size_t unchanged = 0;
};

/// Computes the changes; `local` is by key. Pure. Ignores a remote object that stands for a folder
/// (empty, ends with "/") if it is the prefix itself.
[[nodiscard]] SyncPlan plan_sync(const std::map<std::string, LocalFile>& local,
                                 const std::vector<ObjectInfo>& remote, const std::string& prefix);

struct SyncOptions {
  bool remove = true;    ///< remove objects below the prefix that are not among the files
  bool pretend = false;  ///< only report what would be done
  std::stop_token stop{};
  /// Reports bytes of completely sent files and the total; any thread, one call at a time.
  std::function<void(std::uint64_t done, std::uint64_t total)> progress{};
};

struct SyncReport {
  std::size_t uploaded = 0;
  std::size_t unchanged = 0;
  std::size_t removed = 0;
  std::uint64_t uploaded_bytes = 0;
};

/// Makes the objects whose keys start with `prefix` (not empty, ends with "/") equal to `files`, by
/// content, not by time. Transfers several files at once; removes nothing before everything is
/// uploaded. Throws Error; completed changes stay, and a second call continues from there.
SyncReport sync_files(ObsBucket& bucket, const FolderFiles& files, const std::string& prefix,
                      const SyncOptions& options = {});

}  // namespace assay::cloud
