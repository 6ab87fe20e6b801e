#pragma once

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// The parts of every round's wall-clock time: a bar for each round (the warm-up ones first), all
/// on one scale, and the seconds of each part. Empty if no round has them.
[[nodiscard]] page::Html time_bars(const judge::CaseResult& result);

}  // namespace assay::report::html
