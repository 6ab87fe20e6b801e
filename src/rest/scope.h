#pragma once

#include <string>
#include <utility>

#include "rest/call.h"

namespace assay::rest {

/// Whose templates or secrets the first parameter names: own, team:NAME or all. Throws Refusal 404.
[[nodiscard]] std::pair<accounts::Scope, std::string> scope_of(const Call& call);
/// As the address has it.
[[nodiscard]] std::string scope_text(accounts::Scope scope, const std::string& of);

}  // namespace assay::rest
