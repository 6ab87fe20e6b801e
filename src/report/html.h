#pragma once

#include <string>

#include "judge/result.h"

namespace assay::report {

/// report.html: a single file that needs no network. Readable without JavaScript, in light and dark
/// mode, on paper and on small screens. The same result yields the same bytes.
[[nodiscard]] std::string render_html(const judge::RunResult& result);

}  // namespace assay::report
