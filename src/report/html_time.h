#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// How each round's wall time was spent: one bar per round (warm-up rounds first) on a common
/// scale, and the seconds of each part. Empty if no round has this data.
[[nodiscard]] page::Html time_bars(const judge::CaseResult& result);

}  // namespace assay::report::html
