#pragma once

#include <array>
#include <string_view>

namespace assay::accounts {

/// For database::migrate. Steps that were released are never changed.
extern const std::array<std::string_view, 5> kAccountSchema;

}  // namespace assay::accounts
