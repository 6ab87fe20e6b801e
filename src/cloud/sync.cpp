#include "cloud/sync.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "code/folder_rules.h"
#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
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

/// Identifies a file or folder whatever names lead to it.
using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const fs::path& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return Identity{about.st_dev, about.st_ino};
}

/// The beginning of a file; less if it cannot be read, which its upload will report.
std::string head_of(const fs::path& file) {
  std::string head(code::FolderRules::kHeadBytes, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

class FolderWalk {
 public:
  FolderWalk(const fs::path& folder, const fs::path& key_file)
      : folder_(folder), rules_(folder), key_file_(identity_of(key_file)) {}

  FolderContent run() {
    walk("");
    std::ranges::sort(secrets_);
    std::ranges::sort(found_.left_out);
    found_.left_out.insert(found_.left_out.begin(), secrets_.begin(), secrets_.end());
    return std::move(found_);
  }

 private:
  using Choice = code::FolderRules::Choice;

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
    if (name == code::kIgnoreFile) return;
    const bool is_folder = entry.is_directory(missing);  // or a link to one
    const Choice choice = is_folder ? rules_.of_folder(name, entry.path()) : rules_.of_file(name);
    if (choice == Choice::leave_out || choice == Choice::run)
      return found_.left_out.push_back(name);
    if (is_folder) return walk(name);
    if (entry.is_symlink() && !fs::exists(entry.path(), missing))
      throw Error(
          ErrorKind::environment, "the link leads nowhere", entry.path().string(),
          fmt::format("remove it, restore what it points to, or name it in {}", code::kIgnoreFile));
    if (!entry.is_regular_file(missing)) return;
    if (choice == Choice::secret || is_key_file(entry.path()) ||
        rules_.of_content(name, head_of(entry.path())) == Choice::secret)
      secrets_.push_back(name);
    else
      found_.files[name] = entry.path();
  }

  [[nodiscard]] bool is_key_file(const fs::path& file) const {
    return key_file_ && identity_of(file) == key_file_;
  }

  fs::path folder_;
  code::FolderRules rules_;
  std::optional<Identity> key_file_;
  std::vector<Identity> above_;  // the folders enclosing the current position
  std::vector<std::string> secrets_;
  FolderContent found_;
};

}  // namespace

FolderContent content_of(const fs::path& folder, const fs::path& key_file) {
  return FolderWalk(folder, key_file).run();
}

std::string left_out_line(const FolderContent& content) {
  if (content.left_out.empty()) return {};
  return fmt::format("not uploaded: {} ({} decides)", code::listed_names(content.left_out),
                     code::kIgnoreFile);
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
  // Only files that exist there with the same size need a hash.
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
