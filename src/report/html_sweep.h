#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// Every sweep of the run: the best point, charts, and all points. Empty without sweeps.
[[nodiscard]] page::Html sweeps(const judge::RunResult& result);

}  // namespace assay::report::html
