#include "cloud/sync.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "code/folder_scan.h"
#include "code/ignore_rules.h"
#include "core/error.h"
#include "core/parallel.h"
#include "core/regular_file.h"
#include "core/sha256.h"

namespace assay::cloud {

namespace fs = std::filesystem;

namespace {

std::map<std::string, LocalFile> by_key(const FolderFiles& files, const std::string& prefix) {
  std::map<std::string, LocalFile> out;
  for (const auto& [name, path] : files) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (error)
      throw system_error(ErrorKind::environment, "cannot read the file", path.string(),
                         error.value());
    out[prefix + name] = {path, size, {}};
  }
  return out;
}

/// Which file or folder it is, whatever names lead to it.
using Identity = std::pair<dev_t, ino_t>;

class FolderWalk {
 public:
  explicit FolderWalk(const fs::path& folder) : folder_(folder) {
    rules_.add(read_regular_file_or_empty(folder / code::kIgnoreFile));
  }

  FolderFiles run() {
    walk("");
    return std::move(files_);
  }

 private:
  void walk(const std::string& below) {
    const fs::path folder = below.empty() ? folder_ : folder_ / below;
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0)
      throw system_error(ErrorKind::environment, "cannot read the folder", folder.string(), errno);
    if (!S_ISDIR(about.st_mode))
      throw Error(ErrorKind::environment, "this is no folder", folder.string(),
                  "one file is sent by 'assay obs cp'");
    const Identity self{about.st_dev, about.st_ino};
    if (std::ranges::find(above_, self) != above_.end())
      throw Error(ErrorKind::environment, "the link leads to a folder that it lies in",
                  folder.string(), fmt::format("remove it, or name it in {}", code::kIgnoreFile));
    above_.push_back(self);
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
         at.increment(error))
      take(*at, below.empty() ? at->path().filename().string()
                              : below + "/" + at->path().filename().string());
    if (error)
      throw system_error(ErrorKind::environment, "cannot read the folder", folder.string(),
                         error.value());
    above_.pop_back();
  }

  void take(const fs::directory_entry& entry, const std::string& name) {
    std::error_code missing;
    const bool is_folder = entry.is_directory(missing);  // or a link to one
    if (name == code::kIgnoreFile || rules_.ignores(name, is_folder)) return;
    if (is_folder) return walk(name);
    if (entry.is_symlink() && !fs::exists(entry.path(), missing))
      throw Error(
          ErrorKind::environment, "the link leads nowhere", entry.path().string(),
          fmt::format("remove it, restore what it points to, or name it in {}", code::kIgnoreFile));
    if (entry.is_regular_file(missing)) files_[name] = entry.path();
  }

  fs::path folder_;
  code::IgnoreRules rules_;
  std::vector<Identity> above_;  // the folders that the walk is in
  FolderFiles files_;
};

}  // namespace

FolderFiles files_of(const fs::path& folder) {
  return FolderWalk(folder).run();
}

std::string hash_of(const FolderFiles& files) {
  std::string listing;
  for (const auto& [name, file] : by_key(files, ""))
    listing += fmt::format("{}\n{}\n{}\n", name, file.size, sha256_file(file.path));
  return sha256(listing);
}

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

SyncReport sync_files(ObsBucket& bucket, const FolderFiles& files, const std::string& prefix,
                      const SyncOptions& options) {
  if (prefix.size() < 2 || prefix.front() == '/' || prefix.back() != '/')
    throw Error(ErrorKind::config, fmt::format("not a folder of a bucket: '{}'", prefix),
                bucket.name(), "write it folder/ or a/b/: all else below it is removed");
  if (files.empty())
    throw Error(ErrorKind::config, "there is no file to upload", bucket.name() + "/" + prefix,
                "an empty folder would only remove what is there");
  std::map<std::string, LocalFile> local = by_key(files, prefix);
  const std::vector<ObjectInfo> remote = bucket.list(prefix, options.stop);
  std::map<std::string, std::uint64_t> remote_sizes;
  for (const auto& object : remote) remote_sizes[object.key] = object.size;
  // Only files that exist there with the same size need their hash.
  std::vector<LocalFile*> to_hash;
  for (auto& [key, file] : local) {
    const auto at = remote_sizes.find(key);
    if (at != remote_sizes.end() && at->second == file.size) to_hash.push_back(&file);
  }
  const int threads = bucket.options().parallel;
  run_parallel(to_hash.size(), threads, options.stop, [&](std::size_t i, const std::stop_token&) {
    to_hash[i]->etag = bucket.etag_of(to_hash[i]->path);
  });
  SyncPlan plan = plan_sync(local, remote, prefix);
  if (!options.remove) plan.remove.clear();
  SyncReport report;
  report.unchanged = plan.unchanged;
  report.uploaded = plan.upload.size();
  report.removed = plan.remove.size();
  for (const std::string& key : plan.upload) report.uploaded_bytes += local.at(key).size;
  if (options.pretend) return report;
  std::mutex mutex;
  std::uint64_t sent = 0;
  const auto say = [&](std::uint64_t more) {
    if (!options.progress) return;
    const std::lock_guard lock(mutex);
    options.progress(sent += more, report.uploaded_bytes);
  };
  say(0);
  run_parallel(plan.upload.size(), threads, options.stop,
               [&](std::size_t i, const std::stop_token& inner) {
                 const std::string& key = plan.upload[i];
                 say(bucket.put_file(key, local.at(key).path, inner).size);
               });
  run_parallel(
      plan.remove.size(), threads, options.stop,
      [&](std::size_t i, const std::stop_token& inner) { bucket.remove(plan.remove[i], inner); });
  return report;
}

}  // namespace assay::cloud
