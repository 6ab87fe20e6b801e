#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "jobs/job_request.h"

namespace assay::platform {

// Which folder a data folder is. What runs for its jobs carries marks that a copy of the folder has
// too, so that a server on a copy must know that it is one: it would take the jobs of the original
// for its own, end them, and run those a second time that wait there.

/// What waits in a copy until somebody says that it may run there.
struct Held {
  struct OfSchedule {
    std::string owner{};
    std::string name{};

    bool operator==(const OfSchedule&) const = default;
    static void fields(auto& self, auto&& field) {
      field("owner", self.owner);
      field("name", self.name);
    }
  };
  std::vector<jobs::JobId> jobs{};
  std::vector<OfSchedule> schedules{};

  bool operator==(const Held&) const = default;
  [[nodiscard]] bool empty() const noexcept { return jobs.empty() && schedules.empty(); }
  static void fields(auto& self, auto&& field) {
    field.optional("jobs", self.jobs);
    field.optional("schedules", self.schedules);
  }
};

struct FolderOrigin {
  bool copied = false;       ///< it was made from another one, which may be in use
  bool backup = false;       ///< by way of `assay serve backup`
  std::string of{};          ///< that other one; empty: not known
  jobs::WallTime at_ns = 0;  ///< when the copy was made, or not long before; 0: not known
  bool resume = false;       ///< who restored it said that its jobs are to go on
  bool used = false;         ///< a server with jobs was started on it, or on the original
  Held held{};               ///< since an earlier start
};

/// The name of the list of files that makes a folder a backup (site/backup_list.h).
inline constexpr const char* kBackupList = "backup.json";

/// Looks before anything of it is opened. A folder is a copy when DATA/folder.json names another
/// inode than the folder has, or that it was restored; a folder that was moved keeps its own.
/// Throws Error of kind environment where the file cannot be understood.
[[nodiscard]] FolderOrigin look_at_folder(const std::filesystem::path& data);

/// From now on the folder is nobody's copy: written when all that was to be held is.
void own_folder(const std::filesystem::path& data, const Held& held);

/// Of a folder that was just made from a backup.
void mark_restored(const std::filesystem::path& data, const std::string& of, jobs::WallTime at_ns,
                   bool resume);

}  // namespace assay::platform
