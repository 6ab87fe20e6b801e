#pragma once

#include <optional>

#include "core/error.h"

namespace assay {

/// Writes buffered output, so that a full disk shows now. Returns nothing when everything was
/// written, or when the reader has closed its end and wants no more.
[[nodiscard]] std::optional<Error> flush_standard_output();

}  // namespace assay
