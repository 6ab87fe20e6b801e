#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"
#include "page/table.h"

namespace assay::report {

/// report.md: the summary and the findings, for a pull request, a ticket or a wiki. Outside text
/// cannot become markup in it.
[[nodiscard]] std::string render_markdown(const judge::RunResult& result);

/// A table, and text that cannot become markup, for other documents.
[[nodiscard]] std::string markdown_table(const page::Table& table);
[[nodiscard]] std::string markdown_text(std::string_view text);

}  // namespace assay::report
