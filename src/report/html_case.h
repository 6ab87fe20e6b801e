#pragma once

#include <cstddef>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// A case with its metrics, rounds, charts and statistics. `max_points` limits every chart line.
[[nodiscard]] page::Html case_section(const judge::CaseResult& result, std::size_t number,
                                      std::size_t max_points);

}  // namespace assay::report::html
