#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "history/trends.h"

namespace assay::history {

/// A page with a chart for every trend, its changes marked with what else changed. It needs no
/// network. `links` leads from the page to the folder of results ("", "../results/"); without one,
/// runs are not linked. `remarks` stand below the table.
[[nodiscard]] std::string render_history_page(const History& history,
                                              const std::optional<std::string>& links,
                                              const std::vector<std::string>& remarks);

/// Trends beyond these are in the table of the page only.
inline constexpr std::size_t kMaxCharts = 200;

}  // namespace assay::history
