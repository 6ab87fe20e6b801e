#include "history/archive_runs.h"

#include <map>
#include <string>
#include <tuple>

#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "core/run_layout.h"
#include "core/time.h"
#include "history/remove_runs.h"
#include "pack/open_run.h"

namespace assay::history {

namespace {

namespace fs = std::filesystem;

// For every file, what changes when it is written: inode, size, time.
using Snapshot = std::map<std::string, std::tuple<ino_t, off_t, std::int64_t>>;

Snapshot snapshot_of(const fs::path& run) {
  Snapshot out;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(run)) {
    const std::string path = entry.path().lexically_relative(run).generic_string();
    struct stat info {};
    // The lock appears when somebody takes it; folders change with their content.
    if (path == layout::kLock || ::lstat(entry.path().c_str(), &info) != 0 || S_ISDIR(info.st_mode))
      continue;
    out[path] = {info.st_ino, info.st_size,
                 std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
  }
  return out;
}

bool is_weight(const std::string& path) {
  return path.find("/" + std::string(layout::kWeights)) != std::string::npos;
}

void copy_into(const fs::path& from, const std::string& path, const fs::path& to) {
  make_directories((to / path).parent_path());
  std::error_code ec;
  fs::copy_file(from / path, to / path, fs::copy_options::overwrite_existing, ec);
  if (ec)
    throw system_error(ErrorKind::environment, "cannot copy the file to " + to.string(),
                       (from / path).string(), ec.value());
}

// Files that are not packed must be ones that nobody would miss.
void keep_left_out(const pack::Written& written, const fs::path& run, const fs::path& kept) {
  for (const std::string& path : written.left_out) {
    const layout::RunFile* known = layout::find_run_file(path);
    const bool plain = fs::is_regular_file(fs::symlink_status(run / path));
    if (!plain || known == nullptr || known->role != layout::FileRole::control)
      throw Error(ErrorKind::environment, "the run stays: a link or device cannot be packed",
                  (run / path).string(), "move it away, and archive the run again");
    if (path != layout::kLock && path != layout::kLive && !path.starts_with(layout::kLiveLogs) &&
        !is_weight(path))
      copy_into(run, path, kept);
  }
}

// Reads a packed file back; returns nothing if it is incomplete or something else.
std::string verified_digest(const fs::path& file, int threads) {
  try {
    const pack::Check check = pack::verify(file, {threads, {}});
    return check.ok() ? pack::digest(check.contents) : std::string();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    return {};
  }
}

void require_archivable(const fs::path& folder) {
  check_removable(folder);
  if (store::is_archived(folder))
    throw Error(ErrorKind::usage, "the run is archived already", folder.string());
  std::error_code ec;
  if (!fs::is_regular_file(fs::symlink_status(folder / layout::kResult, ec)))
    throw Error(ErrorKind::usage, "the run stays: it has no result.json for the history to keep",
                folder.string(), "make it with 'assay report " + folder.string() + "'");
}

// A packed file in a folder of packed files, removed again unless the archive is completed.
class PackElsewhere {
 public:
  explicit PackElsewhere(fs::path file) : file_(std::move(file)) {
    std::error_code ec;
    is_new_ = !fs::exists(fs::symlink_status(file_, ec));
  }
  PackElsewhere(const PackElsewhere&) = delete;
  PackElsewhere& operator=(const PackElsewhere&) = delete;
  ~PackElsewhere() {
    std::error_code ignored;
    if (is_new_ && !kept_) fs::remove(file_, ignored);
  }
  [[nodiscard]] bool is_new() const noexcept { return is_new_; }
  void keep() noexcept { kept_ = true; }

 private:
  fs::path file_;
  bool is_new_ = false;
  bool kept_ = false;
};

}  // namespace

store::ArchivedRun archive_run(const fs::path& run, const fs::path& to,
                               const pack::Options& options) {
  const fs::path folder = plain_folder(run);
  require_archivable(folder);
  const Snapshot before = snapshot_of(folder);
  Replacement replacement(folder);
  const fs::path kept = replacement.path();
  make_directories(kept);
  const std::string name = folder.filename().string() + std::string(pack::kExtension);
  if (!to.empty()) make_directories(to);
  store::ArchivedRun archived;
  archived.pack = to.empty() ? kept / name : fs::absolute(to) / name;
  PackElsewhere file(archived.pack);
  // If one already exists, the run is packed beside it again, to compare both.
  const fs::path packed = file.is_new() ? archived.pack : kept / name;
  const pack::Written written = pack::write(folder, packed, options);
  archived.digest = pack::digest(written.contents);
  if (verified_digest(archived.pack, options.threads) != archived.digest)
    throw file.is_new()
        ? Error(ErrorKind::environment,
                "the run stays: its packed file does not hold what was written",
                archived.pack.string(), "check the disk")
        : Error(ErrorKind::environment,
                "the run stays: there is such a file already, and it holds something else",
                archived.pack.string(), "move it away, and archive the run again");
  if (!file.is_new()) fs::remove(packed);
  keep_left_out(written, folder, kept);
  copy_into(folder, std::string(layout::kResult), kept);
  if (fs::exists(folder / layout::kLabels)) copy_into(folder, std::string(layout::kLabels), kept);
  archived.run_id = written.contents.run_id;
  archived.pack_bytes = fs::file_size(archived.pack);
  archived.files = written.contents.files.size();
  archived.bytes = written.contents.bytes();
  archived.archived_at = iso_utc(wall_now_ns());
  store::write_archived(kept, archived);
  // From here on nobody can resume it, and nobody has written to it so far.
  const store::RunLock lock(folder);
  if (snapshot_of(folder) != before)
    throw Error(ErrorKind::environment, "the run stays: it was changed while it was packed",
                folder.string(), "archive it again");
  file.keep();  // kept before, because the folder in the run's place may need it
  replacement.take_its_place();
  if (to.empty()) archived.pack = fs::absolute(folder) / name;
  return archived;
}

void restore_run(const fs::path& run) {
  const fs::path folder = plain_folder(run);
  check_removable(folder);
  if (!store::is_archived(folder))
    throw Error(ErrorKind::usage, "the run is not archived", folder.string());
  const store::ArchivedRun archived = store::read_archived(folder);
  Replacement replacement(folder);
  const fs::path unpacked =
      pack::open_packed(folder, replacement.path().parent_path());  // as .../run
  for (const auto& [path, stamp] : snapshot_of(folder))
    if (path != store::kArchivedFile && path != layout::kResult &&
        fs::absolute(folder) / path != archived.pack)
      copy_into(folder, path, unpacked);
  const store::RunLock lock(folder);
  replacement.take_its_place();
}

}  // namespace assay::history
