#pragma once

#include <filesystem>

namespace assay::site {

// The databases of the job platform beside those of the tester (tester/admin.h). The runs of jobs
// are plain folders in DATA/jobs and are not copied.

/// Into a folder that tester::backup has made; beside a running server, too.
void backup_platform(const std::filesystem::path& data, const std::filesystem::path& out);
/// Before tester::restore, which takes all files of a copy. Throws Error of kind environment or
/// config for one that is damaged.
void check_backup(const std::filesystem::path& from);

}  // namespace assay::site
