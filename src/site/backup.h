#pragma once

#include <filesystem>

namespace assay::site {

// The job platform beside the tester (tester/admin.h): its databases, the runs of jobs and what
// people have sent for them. Files that do not change any more are links where that is possible.

/// Into a folder that tester::backup has made; beside a running server, too.
void backup_platform(const std::filesystem::path& data, const std::filesystem::path& out);
/// Before tester::restore, which takes all files of a copy. Throws Error of kind environment or
/// config for one that is damaged.
void check_backup(const std::filesystem::path& from);

}  // namespace assay::site
