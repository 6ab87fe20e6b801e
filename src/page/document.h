#pragma once

#include <string>
#include <string_view>

#include "page/asset.h"
#include "page/markup.h"

namespace assay::page {

/// A complete page: one file with Assay's style sheet that loads nothing. With a script, the page's
/// own policy names it by its hash, so that text can never run; without one, the server sends the
/// policy.
[[nodiscard]] std::string document(std::string_view title, const Html& body,
                                   const Asset* script = nullptr);

/// A script's name in a content security policy: "sha256-…".
[[nodiscard]] std::string script_source(const Asset& script);

}  // namespace assay::page
