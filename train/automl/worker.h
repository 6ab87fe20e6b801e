#pragma once

#include "workload/workload.h"

namespace assay::train {

/// A worker of an AutoML experiment (docs/automl.md): connects to the coordinator named by
/// ASSAY_AUTOML_ADDRESS and ASSAY_AUTOML_TOKEN and trains what it is given until asked to stop. Its
/// exit code is 1, with a message, if the connection broke or was refused. Throws Error for a wrong
/// configuration, and for missing data or a missing device.
[[nodiscard]] workload::Workload automl_worker();

}  // namespace assay::train
