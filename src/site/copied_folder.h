#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "platform/folder_identity.h"
#include "platform/platform.h"
#include "platform/schedules.h"

namespace assay::site {

/// Before platform and schedules start: where the folder is a copy, jobs that ran in the original
/// are over here, and jobs and schedules that wait are held, unless `resume`. Without a copy,
/// `resume` lets go of what an earlier start has held. Says what is held, and how it goes on. Only
/// then is the folder this server's own: who is ended on the way does all of it again.
void settle_folder(const std::filesystem::path& data, const platform::FolderOrigin& origin,
                   bool resume, platform::Platform& platform, platform::Schedules& schedules,
                   const std::function<void(const std::string&)>& say);

}  // namespace assay::site
