#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A secret of 256 bits from the kernel's generator, as 64 hex digits: whoever shows it was told it
/// by who made it. Throws Error of kind environment.
[[nodiscard]] std::string make_token();

/// Takes as long for a token that is nearly right as for any other.
[[nodiscard]] bool same_token(std::string_view a, std::string_view b) noexcept;

}  // namespace assay
