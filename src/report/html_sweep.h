#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// Every sweep of the run: what is best, charts, and all of its points. Empty when there is none.
[[nodiscard]] page::Html sweeps(const judge::RunResult& result);

}  // namespace assay::report::html
