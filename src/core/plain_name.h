#pragma once

#include <algorithm>
#include <string_view>

namespace assay {

/// Whether `name` may name a person, team, queue, reservation or anything else on the platform;
/// kPlainNames states the rule in words.
[[nodiscard]] constexpr bool is_plain_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.' || c == '@';
         });
}

inline constexpr const char* kPlainNames =
    "1 to 64 letters, digits, '.', '-', '_' and '@', not '.' or '-' first";

}  // namespace assay
