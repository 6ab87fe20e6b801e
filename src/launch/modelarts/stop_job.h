#pragma once

#include <string>

#include "plan/launchers/modelarts_options.h"
#include "store/run_dir.h"

namespace assay::launch {

/// Stops the run's jobs that have not ended, newest case first, and gives the lines that ais-bench
/// prints: "jobname:… jobid:… preversionid:… jobstatus:… stop status:{'is_success': True}", "… no
/// need stop" for a job that has ended; nothing where the run has made none. Jobs of the interface
/// v2 have no versions: None. Throws Error when the service refuses.
[[nodiscard]] std::string stop_cloud_jobs(const store::RunDir& run);

/// The same for the newest job of this name, whoever made it and wherever; "find no match version
/// return" where there is none.
[[nodiscard]] std::string stop_newest_job(const plan::ModelArtsOptions& options);

}  // namespace assay::launch
