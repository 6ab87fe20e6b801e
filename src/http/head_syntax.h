#pragma once

#include <string_view>

namespace assay::http {

/// What RFC 9110 calls a token: a method, the name of a header. Pure.
[[nodiscard]] bool is_token(std::string_view text) noexcept;

/// Whether a line of a head, or a header's value, has a control character other than a tab: such a
/// message is refused, because two readers may see different ends of lines in it. Pure.
[[nodiscard]] bool has_control(std::string_view text) noexcept;

}  // namespace assay::http
