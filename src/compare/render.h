#pragma once

#include <string>

#include "compare/comparison.h"
#include "core/json.h"
#include "report/console.h"

namespace assay::compare {

/// For a terminal: what differed, then a line for every case and metric, then what is unsure.
[[nodiscard]] std::string render_text(const Comparison& comparison,
                                      const report::ConsoleStyle& style);
/// For a pull request.
[[nodiscard]] std::string render_markdown(const Comparison& comparison);
/// docs/compare.md describes it.
[[nodiscard]] Json to_json(const Comparison& comparison);

}  // namespace assay::compare
