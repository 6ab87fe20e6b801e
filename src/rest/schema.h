#pragma once

#include <map>
#include <string>
#include <string_view>

#include "core/json.h"

namespace assay::rest {

/// JSON Schema 2020-12 of a submission, from the fields that its reader knows.
[[nodiscard]] Json submission_schema();

/// The named schemas of requests and answers: components of the OpenAPI document.
[[nodiscard]] const std::map<std::string, Json, std::less<>>& schemas();

/// OpenAPI 3.1, made from the table of routes.
[[nodiscard]] Json openapi();

}  // namespace assay::rest
