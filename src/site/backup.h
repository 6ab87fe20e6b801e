#pragma once

#include <filesystem>

namespace assay::site {

// The databases of the job platform beside those of the tester (tester/admin.h). The runs of jobs
// are plain folders in DATA/jobs and are not copied.

/// Into a folder that tester::backup has made; beside a running server, too.
void backup_platform(const std::filesystem::path& data, const std::filesystem::path& out);
/// Into a folder that tester::restore has made. Throws Error of kind environment for a copy that is
/// damaged.
void restore_platform(const std::filesystem::path& from, const std::filesystem::path& data);

}  // namespace assay::site
