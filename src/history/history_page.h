#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "history/trends.h"

namespace assay::history {

/// A page with a chart for every trend, its changes marked with what changed at that point. Needs
/// no network. `links` is the path from the page to the folder of results ("", "../results/");
/// without it, runs are not linked. `remarks` appear below the table.
[[nodiscard]] std::string render_history_page(const History& history,
                                              const std::optional<std::string>& links,
                                              const std::vector<std::string>& remarks);

/// Further trends appear only in the page's table.
inline constexpr std::size_t kMaxCharts = 200;

}  // namespace assay::history
