#include "history/remove_runs.h"

#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/run_layout.h"
#include "store/run_dir.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRemoving = ".assay-removing-";

void remove_all(const fs::path& folder, const fs::path& shown) {
  std::error_code ec;
  fs::remove_all(folder, ec);
  if (ec)
    throw system_error(ErrorKind::environment,
                       "cannot remove the whole run; what is left is in " + folder.string(),
                       shown.string(), ec.value());
}

}  // namespace

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
      !fs::is_regular_file(fs::symlink_status(path / layout::kPlan, ec)))
    throw Error(ErrorKind::usage, "this is not a run folder: it has no plan.json", path.string(),
                "only runs are removed");
  if (store::RunLock::held(path))
    throw Error(ErrorKind::usage, "the run is going on", path.string(),
                "wait for it, or end it with 'assay stop'");
}

void remove_run(const fs::path& path) {
  // "run/" would be another name for the same folder, and have no file name.
  const fs::path folder = path.has_filename() ? path : path.parent_path();
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
  const fs::path latest = parent / "latest";
  if (fs::is_symlink(fs::symlink_status(latest, ec)) && !fs::exists(latest, ec))
    fs::remove(latest, ec);
  remove_all(hidden, folder);
}

std::size_t finish_removals(const fs::path& results) {
  std::size_t count = 0;
  std::error_code ec;
  for (const fs::directory_entry& entry : fs::directory_iterator(results, ec)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kRemoving) || !fs::is_directory(entry.symlink_status(ec))) continue;
    // Another process may be at it right now.
    if (store::RunLock::held(entry.path())) continue;
    remove_all(entry.path(), entry.path());
    ++count;
  }
  return count;
}

}  // namespace assay::history
