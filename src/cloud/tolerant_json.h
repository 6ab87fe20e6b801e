#pragma once

#include <cstdint>
#include <string>

#include "core/json.h"

namespace assay::cloud {

// Members as the services may write them: what is missing or of another kind is empty.

/// A string; a number or boolean as its text.
[[nodiscard]] std::string text_of(const Json& json, const char* key);
/// A number, also when it is written as a string ("3043").
[[nodiscard]] std::int64_t integer_of(const Json& json, const char* key, std::int64_t fallback = 0);
/// An object or array; null when it is neither.
[[nodiscard]] const Json& member(const Json& json, const char* key);

}  // namespace assay::cloud
