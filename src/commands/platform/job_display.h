#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/answers.h"
#include "page/table.h"

namespace assay::commands {

/// "2026-11-16 16:10" of an ISO time; "–" for none.
[[nodiscard]] std::string shown_time(const std::string& iso);

[[nodiscard]] page::Table jobs_table(const std::vector<client::JobRow>& jobs);

/// Everything about one job that fits on a screen.
[[nodiscard]] std::string job_brief(const client::JobDetails& job,
                                    const std::vector<client::TimelineRow>& timeline,
                                    const std::string& page);

/// "node1 (8), node2 (8)", in the reader's language already.
[[nodiscard]] std::string shown_placement(const jobs::Placement& placement);

/// Why it waits, its place and when it will start; empty where nothing is known.
[[nodiscard]] std::string shown_wait(const std::string& pending, std::int64_t place,
                                     const std::string& estimated_start);

}  // namespace assay::commands
