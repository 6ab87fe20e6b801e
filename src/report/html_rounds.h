#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// The rounds of a case in one table, and their series over time in the same charts, with the odd
/// one marked. Empty for fewer than two rounds. `max_points` bounds every line.
[[nodiscard]] page::Html all_rounds(const judge::CaseResult& result, std::size_t max_points);

/// Whether all_rounds() has charts: two rounds or more have series.
[[nodiscard]] bool has_overlay(const judge::CaseResult& result);

/// The round whose headline is far from the others': by more than three times their spread (the
/// median of the distances from the median, scaled to a standard deviation), and by more than 2 %.
/// Needs three completed rounds; at most one is odd, the farthest.
struct OddRound {
  std::size_t index = 0;
  std::string why;  ///< "6.5 % above the median"
};
[[nodiscard]] std::optional<OddRound> odd_round(const judge::CaseResult& result);

/// The round whose details are open first, and a sentence that says why.
struct OpenRound {
  std::size_t index = 0;
  std::string why;
};
[[nodiscard]] OpenRound open_round(const judge::CaseResult& result);

/// A round's series, under a name.
struct Curve {
  std::string label;
  const judge::RoundResult* round = nullptr;
  std::string remark{};  ///< after the label
};
/// The series of several rounds, in the same charts. Empty if there are none.
[[nodiscard]] page::Html overlaid(std::span<const Curve> curves, std::size_t max_points);

/// "completed", "ended by the time limit".
[[nodiscard]] std::string_view status_words(RoundStatus status);

/// The charts of the series, those of one name and unit together, and the speeds of the ranks.
/// Empty if there are none.
[[nodiscard]] page::Html round_charts(const judge::RoundResult& round, std::size_t max_points);

}  // namespace assay::report::html
