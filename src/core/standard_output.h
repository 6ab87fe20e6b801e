#pragma once

#include <optional>

#include "core/error.h"

namespace assay {

/// Opens /dev/null in place of standard input, output or error where they are closed: what is
/// written there goes nowhere, and no file that is opened later takes their place. Call it first.
void open_standard_streams() noexcept;

/// Writes buffered output, so that a full disk shows now. Returns nothing when everything was
/// written, or when the reader has closed its end and wants no more.
[[nodiscard]] std::optional<Error> flush_standard_output();

}  // namespace assay
