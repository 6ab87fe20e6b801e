#include "history/remove_runs.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "store/archived_run.h"
#include "store/run_dir.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemoving = ".assay-removing-";
constexpr std::string_view kBuilding = ".assay-building-";
constexpr std::string_view kReplaced = ".assay-replaced-";
constexpr const char* kBuilt = "run";

void remove_all(const fs::path& folder, const fs::path& shown) {
  std::error_code ec;
  fs::remove_all(folder, ec);
  if (ec)
    throw system_error(ErrorKind::environment,
                       "cannot remove the whole run; what is left is in " + folder.string(),
                       shown.string(), ec.value());
}

void rename_folder(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(ErrorKind::environment, "cannot rename the folder to " + to.string(),
                       from.string(), errno);
}

// Syncs the file system that contains the folder.
void sync_around(const fs::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::syncfs(fd.get()) != 0)
    throw system_error(ErrorKind::environment, "cannot write to the disk", folder.string(), errno);
}

}  // namespace

fs::path plain_folder(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

Replacement::Replacement(const fs::path& run)
    : run_(fs::absolute(plain_folder(run))),
      building_(run_.parent_path() /
                fmt::format("{}{}-{}", kBuilding, ::getpid(), run_.filename().string())) {
  std::error_code ec;
  fs::remove_all(building_, ec);  // left by an earlier process with the same pid
  make_directories(building_);
  lock_.emplace(building_);
}

Replacement::~Replacement() {
  std::error_code ignored;
  if (!done_) fs::remove_all(building_, ignored);
}

fs::path Replacement::path() const {
  return building_ / kBuilt;
}

void Replacement::take_its_place() {
  sync_around(building_);
  if (::renameat2(AT_FDCWD, path().c_str(), AT_FDCWD, run_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)
      throw system_error(ErrorKind::environment, "cannot put another folder in its place",
                         run_.string(), errno);
    // Network file systems cannot exchange two names; finish_removals repairs the state in between.
    const fs::path replaced =
        run_.parent_path() / (std::string(kReplaced) + run_.filename().string());
    rename_folder(run_, replaced);
    try {
      rename_folder(path(), run_);
    } catch (const Error&) {
      rename_folder(replaced, run_);
      throw;
    }
    rename_folder(replaced, path());
  }
  // Removes the old folder only once the new one is on disk.
  done_ = true;
  sync_around(run_.parent_path());
  remove_all(building_, run_);
}

std::uint64_t disk_use(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code ec;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                           ec);
       !ec && at != fs::recursive_directory_iterator(); at.increment(ec)) {
    struct stat info {};
    if (::lstat(at->path().c_str(), &info) == 0)
      bytes += static_cast<std::uint64_t>(info.st_blocks) * 512;
  }
  return bytes;
}

void check_removable(const fs::path& path) {
  std::error_code ec;
  const fs::file_status status = fs::symlink_status(path, ec);
  if (!fs::exists(status)) throw Error(ErrorKind::usage, "there is no such run", path.string());
  if (fs::is_symlink(status))
    throw Error(ErrorKind::usage, "this is a link, and links are not followed", path.string(),
                "give the folder of the run itself: " + fs::canonical(path, ec).string());
  if (!fs::is_directory(status) ||
      (!fs::is_regular_file(fs::symlink_status(path / layout::kPlan, ec)) &&
       !store::is_archived(path)))
    throw Error(ErrorKind::usage, "this is not a run folder: it has no plan.json", path.string(),
                "only runs are removed");
  if (store::RunLock::held(path))
    throw Error(ErrorKind::usage, "the run is going on", path.string(),
                "wait for it, or end it with 'assay stop'");
}

void remove_run(const fs::path& path) {
  const fs::path folder = plain_folder(path);
  check_removable(folder);
  const store::RunLock lock(folder);
  const fs::path parent = fs::absolute(folder).parent_path();
  const fs::path hidden =
      parent / fmt::format("{}{}-{}", kRemoving, ::getpid(), folder.filename().string());
  std::error_code ec;
  fs::rename(folder, hidden, ec);
  if (ec)
    throw system_error(ErrorKind::environment, "cannot remove the run", folder.string(),
                       ec.value());
  store::mend_latest(parent);
  remove_all(hidden, folder);
}

std::size_t finish_removals(const fs::path& results) {
  std::size_t count = 0;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(results, ec)) {
    const std::string name = entry.path().filename().string();
    const bool replaced = name.starts_with(kReplaced);
    if (!replaced && !name.starts_with(kRemoving) && !name.starts_with(kBuilding)) continue;
    if (!fs::is_directory(entry.symlink_status(ec))) continue;
    // Another process may be working on it right now.
    if (store::RunLock::held(entry.path())) continue;
    if (replaced) {
      const fs::path run = results / name.substr(kReplaced.size());
      if (!fs::exists(fs::symlink_status(run, ec))) {
        rename_folder(entry.path(), run);
        continue;
      }
    }
    remove_all(entry.path(), entry.path());
    ++count;
  }
  return count;
}

}  // namespace assay::history
