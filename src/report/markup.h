#pragma once

#include <string>
#include <string_view>

namespace assay::report {

/// Text for HTML and XML, in content and in attributes in double quotes: made printable, markup
/// escaped, and without the code points that XML 1.0 does not allow.
[[nodiscard]] std::string escape_markup(std::string_view text);

}  // namespace assay::report
