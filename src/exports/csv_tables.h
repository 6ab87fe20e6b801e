#pragma once

#include <cstdint>
#include <filesystem>

#include "exports/logged_run.h"

namespace assay::exports {

/// One row per STEP_END and rank: place and time, the values that PerfLog defines, then by name
/// every other number that a trainer wrote (at most kMaxOwnColumns). Returns the number of rows.
inline constexpr std::size_t kMaxOwnColumns = 100;
std::uint64_t write_steps(const RunFiles& run, const std::filesystem::path& file);

/// One row per number in each EVALUATE.
std::uint64_t write_evaluations(const RunFiles& run, const std::filesystem::path& file);

/// All telemetry.csv files of the run as one table, with each row's case, round and host and its
/// time on the controller's clock.
std::uint64_t write_telemetry(const RunFiles& run, const std::filesystem::path& file);

}  // namespace assay::exports
