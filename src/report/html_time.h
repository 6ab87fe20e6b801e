#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// Where the wall clock of every round went: a bar a round (the warm-up ones first), all on one
/// scale, and the seconds of each part. Empty where no round tells.
[[nodiscard]] page::Html time_bars(const judge::CaseResult& result);

}  // namespace assay::report::html
