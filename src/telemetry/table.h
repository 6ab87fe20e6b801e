#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::telemetry {

/// Columns of telemetry.csv after mono_ns, wall_ns and source, in file order. One row is one source
/// ("node", "cpu0", "rapl0", "ipmi", "dev0" …) at one moment; a value not known is empty (NaN
/// here).
enum class Column : std::uint8_t {
  util,  ///< 0..1
  mem_used_bytes,
  mem_total_bytes,
  power_w,
  energy_j,  ///< counter since an arbitrary origin, never decreasing
  temp_c,
  clock_mhz,
  mem_clock_mhz,
  throttle,       ///< 1 while slowed by heat, power or hardware; 0 otherwise
  ecc_errors,     ///< uncorrected, counter
  disk_read_bps,  ///< bytes per second
  disk_write_bps,
  net_rx_bps,
  net_tx_bps,
};
inline constexpr std::size_t kColumns = 14;
[[nodiscard]] std::string_view column_name(Column column) noexcept;
[[nodiscard]] std::optional<Column> parse_column(std::string_view name) noexcept;
/// The first line of telemetry.csv, without newline.
[[nodiscard]] const std::string& table_header();

struct Row {
  std::int64_t mono_ns = 0;
  std::int64_t wall_ns = 0;
  std::uint32_t source = 0;  ///< index into Table::sources
  std::array<double, kColumns> values{};
  [[nodiscard]] double operator[](Column c) const noexcept {
    return values[static_cast<std::size_t>(c)];
  }
};

/// What one node recorded during a round.
struct Table {
  std::vector<std::string> sources;
  std::vector<Row> rows;             ///< in file order
  std::uint64_t malformed_rows = 0;  ///< unreadable lines (a torn last line, a full disk)
};

/// An absent file gives an empty table; unreadable lines are counted and skipped. A file with
/// another header has no rows: all its lines are counted as malformed. Throws Error of kind
/// environment when the file is there but cannot be read.
[[nodiscard]] Table read_table(const std::filesystem::path& path);

}  // namespace assay::telemetry
