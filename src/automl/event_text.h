#pragma once

#include <string>
#include <string_view>

#include "core/text.h"

namespace assay::automl {

/// What others have said, as it stands in an event: short, and without control characters.
[[nodiscard]] inline std::string event_text(std::string_view text) {
  return ellipsize(printable(text), 300);
}

}  // namespace assay::automl
