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

// Components shared by reports and the tester's pages.

/// A CSS class: "valid", "invalid", "incomplete".
[[nodiscard]] std::string_view css_class(judge::Validity validity);

/// A verdict in a table or heading, as symbol and word, so that it can be read without color.
[[nodiscard]] page::Html chip(judge::Validity validity);

/// The same for a case, which may have been skipped.
[[nodiscard]] page::Html chip(const judge::CaseResult& result);

/// The round seal with the whole run's verdict, surrounded by the run id.
[[nodiscard]] page::Html seal(judge::Validity validity, std::string_view run_id);

/// An important number, for cards().
struct Card {
  std::string title;
  std::string value;
  std::string unit = {};
  std::string below = {};
  std::string description = {};
  std::string origin = {};  ///< the value's origin, if not obvious
  Better better = Better::neither;
  bool headline = false;
};
[[nodiscard]] page::Html cards(std::span<const Card> list, std::size_t columns);

/// Content that unfolds under a title. `css` may be empty.
[[nodiscard]] page::Html details(std::string_view title, const page::Html& content,
                                 std::string_view css = {}, bool open = false);

struct KeyValue {
  std::string key;
  page::Html value;
  bool wide = false;  ///< the value is below its key
};
[[nodiscard]] page::Html key_values(std::span<const KeyValue> list);

/// A remark below other content.
[[nodiscard]] page::Html remark(const page::Html& text);

/// Bars of the headline metric, one per round.
[[nodiscard]] page::Html sparkbars(const judge::CaseResult& result);

/// Findings with advice, worst first; empty without findings.
[[nodiscard]] page::Html findings(std::span<const FoldedFinding> folded);

/// A round's ranks, those with a problem first, in at most `limit` rows and a reference to the
/// rest.
[[nodiscard]] page::Html rank_table(const judge::RoundResult& round, std::size_t limit);

}  // namespace assay::report::html
