#pragma once

#include <string>
#include <string_view>

#include "page/asset.h"
#include "page/markup.h"

namespace assay::page {

/// A whole page: one file with Assay's style sheet that loads nothing. With a script the page names
/// it by its hash in a policy of its own, so that text can never run; without one the
/// server of the page sends the policy.
[[nodiscard]] std::string document(std::string_view title, const Html& body,
                                   const Asset* script = nullptr);

/// How a content security policy names a script: "sha256-…".
[[nodiscard]] std::string script_source(const Asset& script);

}  // namespace assay::page
