#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "history/trends.h"
#include "report/console.h"

namespace assay::history {

/// "2026-11-15 10:15", UTC; "–" for 0.
[[nodiscard]] std::string show_time(std::int64_t ms);
/// "SLOWER by 5.1 %", "BETTER by 3 %", "CHANGED by +2 %".
[[nodiscard]] std::string change_words(const Trend& trend, const TrendChange& change);
/// "nodes 0.kernel: 6.1 → 6.5": the first `most` of the simultaneous changes, and the number of
/// others.
[[nodiscard]] std::vector<std::string> cause_lines(const History& history, const Trend& trend,
                                                   const TrendChange& change, std::size_t most);

/// For a terminal: one line per trend, then the changes with what changed at that point.
[[nodiscard]] std::string render_history(const History& history, const report::ConsoleStyle& style);
/// The form described in docs/history.md.
[[nodiscard]] Json history_to_json(const History& history);
/// One row per point, as RFC 4180.
[[nodiscard]] std::string history_to_csv(const History& history);

/// One line per run.
[[nodiscard]] std::string render_runs(const std::vector<FoundRun>& runs,
                                      const report::ConsoleStyle& style);
[[nodiscard]] Json runs_to_json(const std::vector<FoundRun>& runs);
[[nodiscard]] std::string runs_to_csv(const std::vector<FoundRun>& runs);

}  // namespace assay::history
