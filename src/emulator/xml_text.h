#pragma once

#include <string>
#include <string_view>

namespace assay::emulator {

[[nodiscard]] std::string xml_escape(std::string_view text);

}  // namespace assay::emulator
