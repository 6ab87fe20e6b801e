#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "telemetry/columns.h"

namespace assay::telemetry {

/// A row of telemetry.csv: one source ("node", "job", "cpu0", "rapl0", "ipmi", "dev0" …) at one
/// moment.
struct Row {
  std::int64_t mono_ns = 0;
  std::int64_t wall_ns = 0;
  std::uint32_t source = 0;  ///< index into Table::sources
  Values values;
  [[nodiscard]] double operator[](Column c) const noexcept { return values[c]; }
};

/// One node's recording of a round.
struct Table {
  std::vector<std::string> sources;
  std::vector<Row> rows;                ///< in file order
  std::uint64_t malformed_rows = 0;     ///< unreadable lines (a torn last line, a full disk)
  std::uint64_t impossible_values = 0;  ///< out of their columns' range; unknown in the rows
  std::string first_impossible{};       ///< "power_w of dev0 is -100"
};

/// Reads by the names in the header, so that files of older and newer versions are readable:
/// columns may be in any order, unknown ones are ignored, missing ones are NaN. A header must name
/// mono_ns, wall_ns and source, and no known column twice; otherwise there are no rows, and all
/// lines count as malformed. A missing file yields an empty table; unreadable lines are counted and
/// skipped. Throws Error of kind environment if the file exists but cannot be read.
[[nodiscard]] Table read_table(const std::filesystem::path& path);

}  // namespace assay::telemetry
