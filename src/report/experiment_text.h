#pragma once

#include <string>

#include "core/json.h"

namespace assay::report::experiment {

/// "wider 0 (+8)", "deeper after 12", …; anything but a list of operations stays as it is.
[[nodiscard]] std::string operations_text(const Json& operations);

/// "98.83 %".
[[nodiscard]] std::string accuracy_text(double accuracy);

}  // namespace assay::report::experiment
