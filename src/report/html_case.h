#pragma once

#include <cstddef>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// One case with its metrics, rounds, charts and statistics. `max_points` bounds every chart line.
[[nodiscard]] page::Html case_section(const judge::CaseResult& result, std::size_t number,
                                      std::size_t max_points);

/// The charts of what was measured over time, those of one name and unit together, and the speeds
/// of the ranks. Empty when there are none.
[[nodiscard]] page::Html round_charts(const judge::RoundResult& round, std::size_t max_points);

}  // namespace assay::report::html
