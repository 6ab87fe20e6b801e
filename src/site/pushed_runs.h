#pragma once

#include "rest/call.h"
#include "tester/records.h"
#include "tester/uploads.h"

namespace assay::site {

/// What the tester has accepted, for the pages of the platform. Both must outlive it.
[[nodiscard]] rest::PushedRuns pushed_runs_of(tester::Records& records, tester::Uploads& uploads);

}  // namespace assay::site
