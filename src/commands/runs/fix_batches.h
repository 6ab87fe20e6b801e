#pragma once

#include "plan/plan.h"

namespace assay::commands {

/// For cases that assay-train runs on this machine's devices, replaces `batch_size: auto` with the
/// number it finds there, so that all rounds do the same work and the plan states it. Takes seconds
/// per case, and says so on standard error. If nothing is found, `auto` stays: the ranks then
/// determine it themselves.
void fix_batches(plan::Plan& plan);

}  // namespace assay::commands
