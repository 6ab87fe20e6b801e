#pragma once

#include "workload/workload.h"

namespace assay::train {

/// A worker of an AutoML experiment (docs/automl.md): connects to the coordinator that
/// ASSAY_AUTOML_ADDRESS and ASSAY_AUTOML_TOKEN name, and trains what it is given until it is asked
/// to stop. Its exit code is 1, with a message, when the connection broke or was refused. Throws
/// Error for a wrong configuration and for data or a device that is missing here.
[[nodiscard]] workload::Workload automl_worker();

}  // namespace assay::train
