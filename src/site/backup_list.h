#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jobs/job_state.h"

namespace assay::site {

/// BACKUP/backup.json: every file of a backup with its SHA-256. It is written last, so that a
/// backup without it was cut off, or was made by a version that wrote none.
struct BackupList {
  struct Entry {
    std::string path{};  ///< relative to the backup
    std::uint64_t size = 0;
    std::string sha256{};
    std::string link{};  ///< the target of a symbolic link, which has no hash

    static void fields(auto& self, auto&& field) {
      field("path", self.path);
      field.optional("size", self.size);
      field.optional("sha256", self.sha256);
      field.optional("link", self.link);
    }
  };
  int format = 1;
  std::string from{};  ///< the original folder
  std::string made{};  ///< the time, for people
  jobs::WallTime made_ns = 0;
  std::vector<Entry> files{};

  static void fields(auto& self, auto&& field) {
    field("format", self.format);
    field("from", self.from);
    field("made", self.made);
    field("made_ns", self.made_ns);
    field("files", self.files);
  }
};

/// Lists everything in the folder, in order. Throws Error of kind environment.
void write_backup_list(const std::filesystem::path& backup, const std::filesystem::path& data);

/// Nothing if the folder has no list. Throws Error of kind environment for an unreadable one.
[[nodiscard]] std::optional<BackupList> read_backup_list(const std::filesystem::path& backup);

/// What is missing, changed or additional, one sentence each. Without `deep`, compares only sizes,
/// not contents.
[[nodiscard]] std::vector<std::string> list_faults(const std::filesystem::path& backup,
                                                   const BackupList& list, bool deep);

}  // namespace assay::site
