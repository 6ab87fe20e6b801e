#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "judge/result.h"
#include "page/markup.h"

namespace assay::report::html {

/// A case's rounds in one table, and their measurements over time in shared charts with the odd
/// round marked. Empty for fewer than two rounds. `max_points` limits every line.
[[nodiscard]] page::Html all_rounds(const judge::CaseResult& result, std::size_t max_points);

/// Whether all_rounds() has charts, because at least two rounds were measured over time.
[[nodiscard]] bool has_overlay(const judge::CaseResult& result);

/// The round whose headline is far from the others': by more than three times their spread (the
/// median of the distances from the median, scaled to a standard deviation), and by more than 2 %.
/// Requires three completed rounds; at most one round, the farthest.
struct OddRound {
  std::size_t index = 0;
  std::string why;  ///< "6.5 % above the median"
};
[[nodiscard]] std::optional<OddRound> odd_round(const judge::CaseResult& result);

/// The round whose details are shown first, and a sentence explaining why.
struct OpenRound {
  std::size_t index = 0;
  std::string why;
};
[[nodiscard]] OpenRound open_round(const judge::CaseResult& result);

/// A round's measurements under a name.
struct Curve {
  std::string label;
  const judge::RoundResult* round = nullptr;
  std::string remark{};  ///< follows the label
};
/// The measurements of several rounds over time in shared charts. Empty without measurements.
[[nodiscard]] page::Html overlaid(std::span<const Curve> curves, std::size_t max_points);

/// "completed", "ended by the time limit".
[[nodiscard]] std::string_view status_words(RoundStatus status);

/// Charts of the measurements over time, grouped by name and unit, and of the ranks' speeds. Empty
/// without any.
[[nodiscard]] page::Html round_charts(const judge::RoundResult& round, std::size_t max_points);

}  // namespace assay::report::html
