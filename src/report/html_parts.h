#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/metric.h"
#include "judge/result.h"
#include "page/markup.h"
#include "report/findings.h"

namespace assay::report::html {

// The components of reports and of the tester's pages.

/// "valid", "invalid", "incomplete": a CSS class.
[[nodiscard]] std::string_view css_class(judge::Validity validity);

/// A verdict in a table or heading: symbol and word, so that color is not needed to read it.
[[nodiscard]] page::Html chip(judge::Validity validity);

/// The same for a case, which may have been skipped.
[[nodiscard]] page::Html chip(const judge::CaseResult& result);

/// The round seal of the whole run's verdict, with the run id around it.
[[nodiscard]] page::Html seal(judge::Validity validity, std::string_view run_id);

/// An important number, for cards().
struct Card {
  std::string title;
  std::string value;
  std::string unit = {};
  std::string below = {};
  std::string description = {};
  std::string origin = {};  ///< the value's origin, if that is not obvious
  Better better = Better::neither;
  bool headline = false;
};
[[nodiscard]] page::Html cards(std::span<const Card> list, std::size_t columns);

/// Contents under a title that unfolds. `css` may be "".
[[nodiscard]] page::Html details(std::string_view title, const page::Html& content,
                                 std::string_view css = {}, bool open = false);

struct KeyValue {
  std::string key;
  page::Html value;
  bool wide = false;  ///< the value is shown below its key
};
[[nodiscard]] page::Html key_values(std::span<const KeyValue> list);

/// A remark below another element.
[[nodiscard]] page::Html remark(const page::Html& text);

/// Bars of the headline metric, one per round.
[[nodiscard]] page::Html sparkbars(const judge::CaseResult& result);

/// Findings with advice, the worst first; empty when there are none.
[[nodiscard]] page::Html findings(std::span<const FoldedFinding> folded);

/// The table of a round's ranks: those with a problem first; at most `limit` rows, with a pointer
/// to the rest.
[[nodiscard]] page::Html rank_table(const judge::RoundResult& round, std::size_t limit);

}  // namespace assay::report::html
