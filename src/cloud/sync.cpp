#include "cloud/sync.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/parallel.h"
#include "core/sha256.h"

namespace assay::cloud {

namespace fs = std::filesystem;

namespace {

std::map<std::string, LocalFile> files_below(const fs::path& folder, const std::string& prefix) {
  std::map<std::string, LocalFile> out;
  std::error_code error;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code missing;
    if (at->is_symlink() && !fs::exists(at->path(), missing))
      throw Error(ErrorKind::environment, "the link leads nowhere", at->path().string(),
                  "remove it, or restore what it points to");
    if (!at->is_regular_file()) continue;
    const std::string name = at->path().lexically_relative(folder).generic_string();
    out[prefix + name] = {at->path(), at->file_size(), {}};
  }
  if (error)
    throw system_error(ErrorKind::environment, "cannot read the folder", folder.string(),
                       error.value());
  return out;
}

}  // namespace

SyncPlan plan_sync(const std::map<std::string, LocalFile>& local,
                   const std::vector<ObjectInfo>& remote, const std::string& prefix) {
  SyncPlan plan;
  std::map<std::string, const ObjectInfo*> there;
  for (const auto& object : remote) {
    there[object.key] = &object;
    if (!local.contains(object.key) && object.key != prefix) plan.remove.push_back(object.key);
  }
  for (const auto& [key, file] : local) {
    const auto at = there.find(key);
    if (at != there.end() && at->second->size == file.size && at->second->etag == file.etag)
      ++plan.unchanged;
    else
      plan.upload.push_back(key);
  }
  return plan;
}

std::string folder_hash(const fs::path& folder) {
  std::string listing;
  for (const auto& [name, file] : files_below(folder, ""))
    listing += fmt::format("{}\n{}\n{}\n", name, file.size, sha256_file(file.path));
  return sha256(listing);
}

SyncReport sync_folder(ObsBucket& bucket, const fs::path& folder, const std::string& prefix,
                       const std::stop_token& stop) {
  if (prefix.size() < 2 || prefix.front() == '/' || prefix.back() != '/')
    throw Error(ErrorKind::config, fmt::format("not a folder of a bucket: '{}'", prefix),
                bucket.name(), "write it folder/ or a/b/: all else below it is removed");
  std::map<std::string, LocalFile> local = files_below(folder, prefix);
  if (local.empty())
    throw Error(ErrorKind::config, "there is no file to upload", folder.string(),
                "an empty folder would only remove what is there");
  const std::vector<ObjectInfo> remote = bucket.list(prefix, stop);
  std::map<std::string, std::uint64_t> remote_sizes;
  for (const auto& object : remote) remote_sizes[object.key] = object.size;
  // Only files that exist there with the same size need their hash.
  std::vector<LocalFile*> to_hash;
  for (auto& [key, file] : local) {
    const auto at = remote_sizes.find(key);
    if (at != remote_sizes.end() && at->second == file.size) to_hash.push_back(&file);
  }
  const int threads = bucket.options().parallel;
  run_parallel(to_hash.size(), threads, stop, [&](std::size_t i, const std::stop_token&) {
    to_hash[i]->etag = bucket.etag_of(to_hash[i]->path);
  });
  const SyncPlan plan = plan_sync(local, remote, prefix);
  SyncReport report;
  report.unchanged = plan.unchanged;
  std::vector<std::uint64_t> sent(plan.upload.size());
  run_parallel(plan.upload.size(), threads, stop, [&](std::size_t i, const std::stop_token& inner) {
    const std::string& key = plan.upload[i];
    sent[i] = bucket.put_file(key, local.at(key).path, inner).size;
  });
  for (const std::uint64_t bytes : sent) report.uploaded_bytes += bytes;
  report.uploaded = sent.size();
  run_parallel(plan.remove.size(), threads, stop, [&](std::size_t i, const std::stop_token& inner) {
    bucket.remove(plan.remove[i], inner);
  });
  report.removed = plan.remove.size();
  return report;
}

}  // namespace assay::cloud
