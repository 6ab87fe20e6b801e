#pragma once

#include <string_view>

#include "judge/result.h"
#include "page/table.h"

namespace assay::report {

// The summary of a run: a row for every case. A column is described once; a terminal and a page
// choose from the columns, each in its order.

[[nodiscard]] page::Table console_summary(const judge::RunResult& result);
[[nodiscard]] page::Table page_summary(const judge::RunResult& result);

/// The ANSI color of a verdict on a terminal.
[[nodiscard]] std::string_view verdict_color(judge::Validity validity);

}  // namespace assay::report
