#pragma once

#include <string>

#include "core/json.h"

namespace assay::report::experiment {

/// "wider 0 (+8)", "deeper after 12", …; what is not a list of operations reads as it is.
[[nodiscard]] std::string operations_text(const Json& operations);

/// "98.83 %".
[[nodiscard]] std::string accuracy_text(double accuracy);

}  // namespace assay::report::experiment
