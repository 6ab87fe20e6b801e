#pragma once

#include <span>
#include <string>
#include <vector>

#include "compare/change_bounds.h"
#include "compare/comparison.h"
#include "core/json.h"
#include "page/markup.h"
#include "report/console.h"

namespace assay::compare {

// `over` is the result of exceeded(); every form shows it.

/// For a terminal: of every new side what differed, then a line for every case and metric, then
/// what is unsure.
[[nodiscard]] std::string render_text(const Comparisons& comparison,
                                      const report::ConsoleStyle& style);
/// For a pull request.
[[nodiscard]] std::string render_markdown(const Comparisons& comparison,
                                          std::span<const Excess> over = {});
/// docs/compare.schema.json describes it.
[[nodiscard]] Json to_json(const Comparisons& comparison, std::span<const Excess> over = {});
/// The same for one side: its parts of the form, without `exceeded`.
[[nodiscard]] Json to_json(const Comparison& comparison);
/// A test suite for every new side, a test for every case and metric. With bounds, exceeding one is
/// a failure; without, every certain change for the worse is. A case that is not compared is
/// skipped, unless a bound refers to it.
[[nodiscard]] std::string render_junit(const Comparisons& comparison, bool bounds,
                                       std::span<const Excess> over = {});
/// A page with the curves of both sides in the same charts. The sides are those that were compared.
[[nodiscard]] std::string render_html(const Comparisons& comparison, const Side& base,
                                      std::span<const Side> others,
                                      std::span<const Excess> over = {});

/// The contents of that page below its head, for a page with a head of its own.
[[nodiscard]] page::Html html_sections(const Comparisons& comparison, const Side& base,
                                       std::span<const Side> others,
                                       std::span<const Excess> over = {});

// Parts that several forms share.

/// "+1.25 %"
[[nodiscard]] std::string percent_text(double ratio);
/// "-1.20 … +0.30 %", or "–" without an interval.
[[nodiscard]] std::string interval_text(const std::optional<stats::Interval>& interval);
/// The median of the rounds with its unit; "–" without one.
[[nodiscard]] std::string median_text(const std::vector<double>& rounds, const std::string& unit);
/// The meanings of the verdicts, in one sentence each.
[[nodiscard]] std::string legend(const Comparisons& comparison);
/// For runs without other differences.
[[nodiscard]] std::string_view nothing_differs(const Comparisons& comparison);
/// "Of 12 cases, 1 is slower, 9 are the same and 2 are unsure."
[[nodiscard]] std::string verdict_sentence(const Comparison& side);
/// What a reader must know beside the table, a line each; differences of cases are folded.
[[nodiscard]] std::vector<std::string> remarks(const Comparison& side);

}  // namespace assay::compare
