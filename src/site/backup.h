#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "site/backup_list.h"

namespace assay::site {

// The job platform's part of a backup, beside the tester's (tester/admin.h): its databases, the
// runs of jobs and the code sent for them. Files that no longer change become hard links if
// possible.

/// Writes into a folder that tester::backup has made, and finally writes the list of all files. The
/// server may be running.
void backup_platform(const std::filesystem::path& data, const std::filesystem::path& out);

/// Checks a backup before tester::restore, which takes over all of its files. Returns its list of
/// files; nothing if an earlier version made it without a list, so that nobody can tell what is
/// missing. Throws Error of kind environment or config, which names what is damaged or missing.
[[nodiscard]] std::optional<BackupList> check_backup(const std::filesystem::path& from);

/// Marks the folder as a copy, after tester::restore (platform/folder_identity.h). With `resume`,
/// its jobs continue, because the original does not.
void mark_restored(const std::filesystem::path& from, const std::filesystem::path& data,
                   const std::optional<BackupList>& list, bool resume);

/// The problems of the platform's part of a data folder, or of a backup; one sentence each.
[[nodiscard]] std::vector<std::string> verify_platform(const std::filesystem::path& data,
                                                       bool deep);

/// The file with the key that encrypts secrets. It is in no backup, so that a backup alone reveals
/// no secret. Empty if the folder has none.
[[nodiscard]] std::filesystem::path key_left_out(const std::filesystem::path& data);

}  // namespace assay::site
