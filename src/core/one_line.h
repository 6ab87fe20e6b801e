#pragma once

#include <string_view>

namespace assay {

/// UTF-8 with nothing in it that moves, hides or breaks a line of text where it is shown.
[[nodiscard]] bool is_one_line(std::string_view text);

}  // namespace assay
