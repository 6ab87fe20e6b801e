#pragma once

#include <array>
#include <string_view>

namespace assay::accounts {

/// For database::migrate. Steps that were released are never changed.
extern const std::array<std::string_view, 4> kAccountSchema;

}  // namespace assay::accounts
