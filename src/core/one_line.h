#pragma once

#include <string_view>

namespace assay {

/// Whether `text` is UTF-8 without anything that moves, hides or breaks a line where it is shown.
[[nodiscard]] bool is_one_line(std::string_view text);

}  // namespace assay
