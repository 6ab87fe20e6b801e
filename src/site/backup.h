#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "site/backup_list.h"

namespace assay::site {

// The job platform beside the tester (tester/admin.h): its databases, the runs of jobs and what
// people have sent for them. Files that do not change any more are links where that is possible.

/// Into a folder that tester::backup has made; beside a running server, too. At last the list of
/// all files.
void backup_platform(const std::filesystem::path& data, const std::filesystem::path& out);

/// Before tester::restore, which takes all files of a copy. Gives the list that it was checked
/// against; nothing: it is of a version that wrote none, and what is missing cannot be told. Throws
/// Error of kind environment or config for one that is damaged or not whole, naming what is.
[[nodiscard]] std::optional<BackupList> check_backup(const std::filesystem::path& from);

/// After tester::restore: the folder knows that it is a copy (platform/folder_identity.h).
/// `resume`: its jobs go on, because the original does not.
void mark_restored(const std::filesystem::path& from, const std::filesystem::path& data,
                   const std::optional<BackupList>& list, bool resume);

/// What is wrong with the platform's part of a data folder, or with a backup; one sentence each.
[[nodiscard]] std::vector<std::string> verify_platform(const std::filesystem::path& data,
                                                       bool deep);

/// The key with which secrets are encrypted: no backup has it, so that one alone tells none of
/// them. Empty: the folder has none.
[[nodiscard]] std::filesystem::path key_left_out(const std::filesystem::path& data);

}  // namespace assay::site
