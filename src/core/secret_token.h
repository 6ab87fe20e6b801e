#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A 256-bit secret from the kernel's generator, as 64 hex digits; only those whom its maker told
/// can present it. Throws Error of kind environment.
[[nodiscard]] std::string make_token();

/// Takes as long for a nearly correct token as for any other.
[[nodiscard]] bool same_token(std::string_view a, std::string_view b) noexcept;

}  // namespace assay
