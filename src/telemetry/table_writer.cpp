#include "telemetry/table_writer.h"

#include <cmath>
#include <iterator>

#include <fmt/compile.h>
#include <fmt/format.h>

namespace assay::telemetry {

const std::string& table_header() {
  static const std::string header = [] {
    std::string text = "mono_ns,wall_ns,source";
    for (const ColumnInfo& column : kColumnTable) {
      text += ',';
      text += column.name;
    }
    return text;
  }();
  return header;
}

void append_row(std::string& out, const Instant& when, std::string_view source,
                const Values& values) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, FMT_COMPILE("{},{},{}"), when.mono_ns, when.wall_ns, source);
  for (const ColumnInfo& column : kColumnTable) {
    out += ',';
    const double value = values[column.column];
    if (!std::isfinite(value)) continue;
    if (column.decimals == 0 && std::abs(value) < 9e15)
      fmt::format_to(to, FMT_COMPILE("{}"), std::llround(value));
    else
      fmt::format_to(to, "{:.{}f}", value, column.decimals);
  }
  out += '\n';
}

}  // namespace assay::telemetry
