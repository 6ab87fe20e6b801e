#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report::html {

// The pieces of report.html. Every function gives well-formed markup with all text escaped.

/// "valid", "invalid", "incomplete": a CSS class.
[[nodiscard]] std::string_view css_class(judge::Validity validity);

/// A verdict in a table or heading: symbol and word, so that colour is not needed to read it.
[[nodiscard]] std::string chip(judge::Validity validity);

/// The round seal of the whole run's verdict, with the run id around it.
[[nodiscard]] std::string seal(judge::Validity validity, std::string_view run_id);

/// Bars of the headline metric, one per round.
[[nodiscard]] std::string sparkbars(const judge::CaseResult& result);

/// "Findings" with advice, the worst first; "" when there are none.
[[nodiscard]] std::string findings(const judge::CaseResult& result);

/// The table of a round's ranks: those with a problem first; at most `limit` rows, the rest is
/// pointed at.
[[nodiscard]] std::string rank_table(const judge::RoundResult& round, std::size_t limit);

/// One case with its metrics, rounds, charts and statistics. `max_points` bounds every chart line.
[[nodiscard]] std::string case_section(const judge::CaseResult& result, std::size_t number,
                                       std::size_t max_points);

/// A JSON value of unknown shape as tables, bounded in depth and size.
[[nodiscard]] std::string json_tree(const Json& value);

/// "node1 · 2 × EPYC 7742 · 64 cores · 512.00 GiB · 8 × A100": what is known; "" when nothing is.
[[nodiscard]] std::string machine_line(const Json& system);

}  // namespace assay::report::html
