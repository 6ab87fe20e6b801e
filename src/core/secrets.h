#pragma once

#include <string>
#include <string_view>

namespace assay {

/// Shown in place of a secret.
inline constexpr std::string_view kHiddenValue = "(hidden)";

/// Whether a variable with that name is likely to hold a secret: HF_TOKEN, AWS_SECRET_ACCESS_KEY.
[[nodiscard]] bool names_a_secret(std::string_view variable);

/// `value`, or kHiddenValue if its name or content looks like a secret: a key in one of the usual
/// forms, or an address with a password in it. For everything that is recorded or shown.
[[nodiscard]] std::string without_secret(std::string_view variable, std::string_view value);

}  // namespace assay
