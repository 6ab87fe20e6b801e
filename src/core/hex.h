#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Lower-case hex digits.
[[nodiscard]] std::string to_hex(std::string_view bytes);

}  // namespace assay
