#include "site/backup_list.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json_fields.h"
#include "core/regular_file.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/time.h"
#include "platform/folder_identity.h"
#include "tester/data_folder.h"

namespace assay::site {

namespace fs = std::filesystem;

namespace {

constexpr int kFormat = 1;

// SQLite's files beside an open database; beside a copy they are empty.
bool is_beside_database(const std::string& path) {
  return path.ends_with(".db-wal") || path.ends_with(".db-shm");
}

// All files and links below a folder, except the list itself.
std::vector<std::string> paths_in(const fs::path& folder) {
  std::vector<std::string> out;
  for (fs::recursive_directory_iterator it(folder), end; it != end; ++it) {
    if (it->symlink_status().type() == fs::file_type::directory) continue;
    std::string path = it->path().lexically_relative(folder).string();
    if (path != platform::kBackupList && !is_beside_database(path)) out.push_back(std::move(path));
  }
  std::ranges::sort(out);
  return out;
}

BackupList::Entry entry_of(const fs::path& folder, const std::string& path) {
  BackupList::Entry entry{.path = path};
  const fs::path file = folder / path;
  if (fs::is_symlink(fs::symlink_status(file))) {
    entry.link = fs::read_symlink(file).string();
  } else {
    entry.size = fs::file_size(file);
    entry.sha256 = sha256_file(file);
  }
  return entry;
}

// Returns what is wrong; empty if nothing is.
std::string entry_fault(const fs::path& folder, const BackupList::Entry& entry, bool deep) {
  const fs::path file = folder / entry.path;
  std::error_code ec;
  const fs::file_type type = fs::symlink_status(file, ec).type();
  if (type == fs::file_type::not_found) return "is missing";
  if (!entry.link.empty())
    return type == fs::file_type::symlink && fs::read_symlink(file, ec) == entry.link
               ? ""
               : "is not the link that it was";
  if (type != fs::file_type::regular) return "is not a regular file";
  const auto size = fs::file_size(file, ec);
  if (ec || size != entry.size) return fmt::format("has {} bytes instead of {}", size, entry.size);
  return deep && sha256_file(file) != entry.sha256 ? "has other content than when it was copied"
                                                   : "";
}

// A forged list must not lead out of the folder.
bool stays_below(const std::string& path) {
  const fs::path relative(path);
  return !path.empty() && relative.is_relative() &&
         std::ranges::find(relative, fs::path("..")) == relative.end();
}

}  // namespace

void write_backup_list(const fs::path& backup, const fs::path& data) {
  BackupList list{.format = kFormat, .from = fs::absolute(data).lexically_normal().string()};
  list.made_ns = wall_now_ns();
  list.made = iso_utc(list.made_ns);
  try {
    for (const std::string& path : paths_in(backup)) list.files.push_back(entry_of(backup, path));
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorKind::environment, error.what(), backup.string());
  }
  tester::write_private(backup / platform::kBackupList, dump_pretty(fields_to_json(list)));
}

std::optional<BackupList> read_backup_list(const fs::path& backup) {
  const fs::path file = backup / platform::kBackupList;
  std::error_code ec;
  if (fs::symlink_status(file, ec).type() == fs::file_type::not_found) return std::nullopt;
  try {
    auto list = fields_from_json<BackupList>(parse_json(read_regular_file(file), file.string()),
                                             file.string());
    if (list.format != kFormat)
      throw Error(ErrorKind::config,
                  fmt::format("of format {}, which this version does not know", list.format));
    for (const BackupList::Entry& entry : list.files)
      if (!stays_below(entry.path))
        throw Error(ErrorKind::config, "a path leads out of the backup: " + printable(entry.path));
    return list;
  } catch (const Error& error) {
    throw Error(ErrorKind::environment,
                "the list of the backup's files cannot be read: " + error.message(), file.string(),
                "take another backup");
  }
}

std::vector<std::string> list_faults(const fs::path& backup, const BackupList& list, bool deep) {
  std::vector<std::string> faults;
  std::set<std::string> listed;
  try {
    for (const BackupList::Entry& entry : list.files) {
      listed.insert(entry.path);
      if (const std::string fault = entry_fault(backup, entry, deep); !fault.empty())
        faults.push_back(fmt::format("{} {}", entry.path, fault));
    }
    for (const std::string& path : paths_in(backup))
      if (!listed.contains(path))
        faults.push_back(fmt::format("{} is not in the list of the backup's files", path));
  } catch (const fs::filesystem_error& error) {
    faults.push_back(fmt::format("the folder cannot be read: {}", error.what()));
  }
  return faults;
}

}  // namespace assay::site
