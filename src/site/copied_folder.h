#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "platform/folder_identity.h"
#include "platform/platform.h"
#include "platform/schedules.h"

namespace assay::site {

/// Call this before platform and schedules start. If the folder is a copy, jobs that ran in the
/// original have ended here, and waiting jobs and schedules are held, unless `resume` is set. In
/// any other folder, `resume` releases what an earlier start has held. Says what is held, and how
/// to release it. The folder becomes this server's own only at the end, so that a server that is
/// killed on the way does all of it again.
void settle_folder(const std::filesystem::path& data, const platform::FolderOrigin& origin,
                   bool resume, platform::Platform& platform, platform::Schedules& schedules,
                   const std::function<void(const std::string&)>& say);

}  // namespace assay::site
