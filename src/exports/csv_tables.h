#pragma once

#include <cstdint>
#include <filesystem>

#include "exports/logged_run.h"

namespace assay::exports {

/// A row for each STEP_END of each rank: where and when, what PerfLog defines, and then, by name,
/// every other number that a trainer wrote in one (at most kMaxOwnColumns). Gives how many rows.
inline constexpr std::size_t kMaxOwnColumns = 100;
std::uint64_t write_steps(const RunFiles& run, const std::filesystem::path& file);

/// A row for each number of each EVALUATE.
std::uint64_t write_evaluations(const RunFiles& run, const std::filesystem::path& file);

/// All telemetry.csv of the run as one table, with the case, round and host of each row and its
/// time on the controller's clock.
std::uint64_t write_telemetry(const RunFiles& run, const std::filesystem::path& file);

}  // namespace assay::exports
