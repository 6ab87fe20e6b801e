#pragma once

#include <cstdint>
#include <string>

namespace assay::commands {

/// The port in `--web[=PORT]`: 0 for "any". Throws Error of kind usage.
[[nodiscard]] std::uint16_t web_port(const std::string& text);

}  // namespace assay::commands
