#pragma once

#include <string_view>

#include "judge/result.h"
#include "page/table.h"

namespace assay::report {

// A run's summary with one row per case. Each column is defined once; the terminal and the page
// choose theirs, each in its own order.

[[nodiscard]] page::Table console_summary(const judge::RunResult& result);
[[nodiscard]] page::Table page_summary(const judge::RunResult& result);

/// The ANSI color of a verdict.
[[nodiscard]] std::string_view verdict_color(judge::Validity validity);

}  // namespace assay::report
