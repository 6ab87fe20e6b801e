#pragma once

#include "rest/call.h"
#include "tester/records.h"
#include "tester/uploads.h"

namespace assay::site {

/// The runs that the tester has accepted, for the platform's pages. Both must outlive the result.
[[nodiscard]] rest::PushedRuns pushed_runs_of(tester::Records& records, tester::Uploads& uploads);

}  // namespace assay::site
