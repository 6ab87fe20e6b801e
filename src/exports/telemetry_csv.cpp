#include <cmath>

#include "exports/csv_table.h"
#include "exports/csv_tables.h"
#include "telemetry/telemetry_table.h"

namespace assay::exports {

std::uint64_t write_telemetry(const RunFiles& run, const std::filesystem::path& file) {
  CsvTable table(file);
  for (const char* name : {"case", "round", "host", "node", "source", "time_s", "elapsed_s"})
    table.text(name);
  for (const telemetry::ColumnInfo& column : telemetry::kColumnTable) table.text(column.name);
  table.end_row();
  std::uint64_t rows = 0;
  for (const live::TelemetryFile& from : run.watch().telemetry()) {
    const live::WatchedRound& round = run.round_of(from.round_index);
    const double offset = run.watch().clock_offset(from.node);
    const telemetry::Table read = telemetry::read_table(from.file);
    for (const telemetry::Row& row : read.rows) {
      const double t = static_cast<double>(row.wall_ns) / 1e9 - offset;
      table.text(round.case_name)
          .number(std::int64_t{round.round})
          .text(from.host)
          .number(std::int64_t{from.node})
          .text(read.sources[row.source])
          .number(t)
          .number(t - static_cast<double>(round.start_ms) / 1e3);
      for (const double value : row.values) std::isnan(value) ? table.empty() : table.number(value);
      table.end_row();
      ++rows;
    }
  }
  table.finish();
  return rows;
}

}  // namespace assay::exports
