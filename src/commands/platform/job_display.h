#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/answers.h"
#include "page/table.h"

namespace assay::commands {

/// An ISO time as "2026-11-16 16:10"; "–" for none.
[[nodiscard]] std::string shown_time(const std::string& iso);

[[nodiscard]] page::Table jobs_table(const std::vector<client::JobRow>& jobs);

/// All information about one job that fits on a screen.
[[nodiscard]] std::string job_brief(const client::JobDetails& job,
                                    const std::vector<client::TimelineRow>& timeline,
                                    const std::string& page);

/// "node1 (8), node2 (8)", already in the reader's language.
[[nodiscard]] std::string shown_placement(const jobs::Placement& placement);

/// Why it waits, its place and its estimated start; empty if nothing is known.
[[nodiscard]] std::string shown_wait(const std::string& pending, std::int64_t place,
                                     const std::string& estimated_start);

}  // namespace assay::commands
