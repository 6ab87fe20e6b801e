#pragma once

#include "plan/plan.h"

namespace assay::commands {

/// Replaces `batch_size: auto` of cases that assay-train runs on devices of this machine by the
/// number that it finds there, so that all rounds do the same work and the plan says which. Takes
/// seconds a case, and says so on standard error. Where nothing is found, `auto` stays: the ranks
/// look for it themselves.
void fix_batches(plan::Plan& plan);

}  // namespace assay::commands
