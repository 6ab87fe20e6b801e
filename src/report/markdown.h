#pragma once

#include <string>

#include "judge/result.h"

namespace assay::report {

/// report.md: the summary and what was found, for a pull request, a ticket or a wiki. Text from
/// outside cannot become markup there.
[[nodiscard]] std::string render_markdown(const judge::RunResult& result);

}  // namespace assay::report
