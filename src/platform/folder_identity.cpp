#include "platform/folder_identity.h"

#include <algorithm>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json_fields.h"
#include "core/regular_file.h"

namespace assay::platform {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFolderFile = "folder.json";
constexpr std::int64_t kSecond = 1'000'000'000;

struct Stored {
  // Of the folder that the file was written for; 0: of none yet.
  std::string path{};
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  ///< of the inode; numbers are given again. 0: not known
  // Of one that was restored:
  std::string copy_of{};
  jobs::WallTime copied_ns = 0;
  bool resume = false;
  Held held{};

  static void fields(auto& self, auto&& field) {
    field.optional("path", self.path);
    field.optional("inode", self.inode);
    field.optional("born_ns", self.born_ns);
    field.optional("copy_of", self.copy_of);
    field.optional("copied_ns", self.copied_ns);
    field.optional("resume", self.resume);
    field.optional("held", self.held);
  }
};

/// Sets inode and born_ns. Throws where the folder cannot be looked at: what cannot be told apart
/// must not be started.
void identify(const fs::path& data, Stored& stored) {
  struct statx about {};
  if (::statx(AT_FDCWD, data.c_str(), 0, STATX_INO | STATX_BTIME, &about) != 0)
    throw system_error(ErrorKind::environment, "cannot look at the folder", data.string(), errno);
  stored.inode = about.stx_ino;
  if ((about.stx_mask & STATX_BTIME) != 0)
    stored.born_ns = about.stx_btime.tv_sec * kSecond + about.stx_btime.tv_nsec;
}

std::optional<Stored> read_stored(const fs::path& file) {
  std::error_code ec;
  if (fs::symlink_status(file, ec).type() == fs::file_type::not_found) return std::nullopt;
  try {
    return fields_from_json<Stored>(parse_json(read_regular_file(file), file.string()),
                                    file.string());
  } catch (const Error& error) {
    throw Error(ErrorKind::environment,
                "it cannot be told whether this folder is a copy of another: " + error.message(),
                file.string(),
                "put the file back; without it the server takes what ran here for its own");
  }
}

jobs::WallTime last_change(const fs::path& file) {
  struct stat about {};
  return ::stat(file.c_str(), &about) == 0 ? about.st_mtim.tv_sec * kSecond + about.st_mtim.tv_nsec
                                           : 0;
}

void write_stored(const fs::path& data, const Stored& stored) {
  const fs::path file = data / kFolderFile;
  write_file_atomic(file, dump_pretty(fields_to_json(stored)));
  ::chmod(file.c_str(), 0600);
}

}  // namespace

FolderOrigin look_at_folder(const fs::path& data) {
  FolderOrigin out;
  const auto stored = read_stored(data / kFolderFile);
  if (!stored) {
    // A backup that is served itself, or one whose restoring was cut off.
    const Json list = parse_json_or_null(read_regular_file_or_empty(data / kBackupList));
    if (!fs::exists(fs::symlink_status(data / kBackupList))) return out;
    out.copied = out.backup = true;
    if (list.is_object() && list.value("from", Json()).is_string()) out.of = list["from"];
    if (list.is_object() && list.value("made_ns", Json()).is_number_integer())
      out.at_ns = list["made_ns"];
    return out;
  }
  out.held = stored->held;
  if (stored->inode == 0) {
    out.copied = out.backup = true;
    out.of = stored->copy_of;
    out.at_ns = stored->copied_ns;
    out.resume = stored->resume;
    return out;
  }
  out.used = true;
  Stored now;
  identify(data, now);
  const bool same_birth =
      stored->born_ns == 0 || now.born_ns == 0 || stored->born_ns == now.born_ns;
  if (now.inode == stored->inode && same_birth) return out;
  out.copied = true;
  out.of = stored->path;
  // The last thing that the original wrote which the copy has.
  out.at_ns = std::max(last_change(data / "jobs.db"), last_change(data / "jobs.db-wal"));
  return out;
}

void own_folder(const fs::path& data, const Held& held) {
  Stored stored;
  stored.path = fs::absolute(data).string();
  identify(data, stored);
  stored.held = held;
  write_stored(data, stored);
  // What the folder holds changes from now on: it is no backup any more.
  std::error_code ec;
  fs::remove(data / kBackupList, ec);
}

void mark_restored(const fs::path& data, const std::string& of, jobs::WallTime at_ns, bool resume) {
  Stored stored;
  stored.copy_of = of;
  stored.copied_ns = at_ns;
  stored.resume = resume;
  write_stored(data, stored);
}

}  // namespace assay::platform
