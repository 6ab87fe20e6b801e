#pragma once

#include <optional>

#include "core/error.h"

namespace assay {

/// Writes what was printed and is still in a buffer: a full disk shows now. Nothing: all of it is
/// out, or its reader has gone, who wanted no more.
[[nodiscard]] std::optional<Error> flush_standard_output();

}  // namespace assay
