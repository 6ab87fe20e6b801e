#include "history/run_scan.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "core/parallel.h"
#include "core/run_layout.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAtOnce = 512;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::int64_t ns_of(const timespec& time) {
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

using Folder = std::unique_ptr<DIR, CloseFolder>;

Folder open_results(const fs::path& results) {
  Folder folder(::opendir(results.c_str()));
  if (folder == nullptr)
    throw Error(ErrorKind::usage, "there is no folder of results", results.string(),
                "give it with --results, or make a run with 'assay run'");
  return folder;
}

// Nothing for a link to a folder.
bool take_stamp(int parent, const std::string& name, Stamp& stamp) {
  struct stat info {};
  if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode))
    return false;
  stamp.folder_mtime_ns = ns_of(info.st_mtim);
  const std::string result = name + "/" + std::string(layout::kResult);
  if (::fstatat(parent, result.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    stamp.result_mtime_ns = ns_of(info.st_mtim);
    stamp.result_bytes = info.st_size;
  }
  return true;
}

}  // namespace

void require_results(const fs::path& results) {
  (void)open_results(results);
}

std::vector<RunFolder> scan_results(const fs::path& results, int threads) {
  const Folder folder = open_results(results);
  std::vector<RunFolder> found;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    const bool may_be = entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN;
    if (may_be && !name.starts_with('.')) found.push_back({name, {}});
  }
  const int parent = ::dirfd(folder.get());
  const std::size_t parts = (found.size() + kAtOnce - 1) / kAtOnce;
  std::vector<char> kept(found.size(), 0);
  run_parallel(parts, threads, {}, [&](std::size_t part, const std::stop_token&) {
    for (std::size_t i = part * kAtOnce; i < std::min(found.size(), (part + 1) * kAtOnce); ++i)
      kept[i] = take_stamp(parent, found[i].name, found[i].stamp) ? 1 : 0;
  });
  std::size_t at = 0;
  std::erase_if(found, [&](const RunFolder&) { return kept[at++] == 0; });
  std::ranges::sort(found, {}, &RunFolder::name);
  return found;
}

Stamp stamp_of(const fs::path& run) {
  Stamp stamp;
  (void)take_stamp(AT_FDCWD, run.string(), stamp);
  return stamp;
}

bool looks_like_run(const fs::path& folder) {
  return std::ranges::any_of(std::to_array({layout::kPlan, layout::kResult, layout::kJournal}),
                             [&](std::string_view name) {
                               std::error_code ec;
                               return fs::exists(fs::symlink_status(folder / name, ec));
                             });
}

}  // namespace assay::history
