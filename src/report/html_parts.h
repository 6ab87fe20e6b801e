#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/json.h"
#include "judge/result.h"

namespace assay::report::html {

// The pieces of report.html and of an experiment's report. Every function gives well-formed markup
// with all text escaped; parameters that are markup themselves are named so.

/// A whole page that needs no network, with the script of the charts. `style` and `body` are CSS
/// and markup.
[[nodiscard]] std::string page(std::string_view title, std::string_view style,
                               std::string_view body);

/// The certificate at the top of a page. `facts` is markup: fact() by fact().
[[nodiscard]] std::string masthead(judge::Validity validity, std::string_view run_id,
                                   std::string_view brand, std::string_view title,
                                   std::string_view sentence, std::string_view facts);

/// `value` is markup; "" when that is empty.
[[nodiscard]] std::string fact(std::string_view name, const std::string& value);

/// "2026-11-15 10:15:00 UTC" to read, the machine form in the attribute.
[[nodiscard]] std::string time_element(const std::string& iso);

/// Assay's version as markup; "" when the provenance does not say.
[[nodiscard]] std::string version_of(const Json& provenance);

/// The charts of what was measured over time, those of one name and unit together, and the speeds
/// of the ranks. "" when there are none.
[[nodiscard]] std::string round_charts(const judge::RoundResult& round, std::size_t max_points);

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
