#pragma once

#include <string_view>

namespace assay::http {

/// Whether the text is an RFC 9110 token, such as a method or a header's name. Pure.
[[nodiscard]] bool is_token(std::string_view text) noexcept;

/// Whether a line of a head, or a header's value, contains a control character other than a tab:
/// such a message is refused, because two readers may see different line ends in it. Pure.
[[nodiscard]] bool has_control(std::string_view text) noexcept;

}  // namespace assay::http
