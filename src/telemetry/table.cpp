#include "telemetry/table.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "core/files.h"

namespace assay::telemetry {

namespace {

constexpr std::array<std::string_view, kColumns> kNames{
    "util",          "mem_used_bytes", "mem_total_bytes", "power_w",   "energy_j",
    "temp_c",        "clock_mhz",      "mem_clock_mhz",   "throttle",  "ecc_errors",
    "disk_read_bps", "disk_write_bps", "net_rx_bps",      "net_tx_bps"};

// Takes the text up to the next comma off `rest`.
std::optional<std::string_view> next_field(std::string_view& rest) {
  if (rest.data() == nullptr) return std::nullopt;
  const std::size_t comma = rest.find(',');
  const std::string_view field = rest.substr(0, comma);
  rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  return field;
}

template <class T>
bool to_number(std::string_view text, T& out) {
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), out);
  return ec == std::errc{} && end == text.data() + text.size();
}

class Reader {
 public:
  void line(std::string_view text) {
    Row row;
    const auto mono = next_field(text);
    const auto wall = next_field(text);
    const auto source = next_field(text);
    if (!source || source->empty() || !to_number(*mono, row.mono_ns) ||
        !to_number(*wall, row.wall_ns))
      return malformed();
    for (double& value : row.values) {
      const auto field = next_field(text);
      if (!field) return malformed();
      if (field->empty())
        value = std::numeric_limits<double>::quiet_NaN();
      else if (!to_number(*field, value) || !std::isfinite(value))
        return malformed();
    }
    if (text.data() != nullptr) return malformed();
    row.source = source_index(*source);
    table.rows.push_back(row);
  }

  void malformed() { ++table.malformed_rows; }

  Table table;

 private:
  std::uint32_t source_index(std::string_view name) {
    const auto [place, added] =
        sources_.try_emplace(name, static_cast<std::uint32_t>(table.sources.size()));
    if (added) table.sources.emplace_back(name);
    return place->second;
  }

  std::unordered_map<std::string_view, std::uint32_t> sources_;  // views into the file's text
};

}  // namespace

std::string_view column_name(Column column) noexcept {
  return kNames[static_cast<std::size_t>(column)];
}

std::optional<Column> parse_column(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kColumns; ++i)
    if (kNames[i] == name) return static_cast<Column>(i);
  return std::nullopt;
}

const std::string& table_header() {
  static const std::string header = [] {
    std::string text = "mono_ns,wall_ns,source";
    for (const std::string_view name : kNames) {
      text += ',';
      text += name;
    }
    return text;
  }();
  return header;
}

Table read_table(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec) && !ec) return {};
  const std::string text = read_file(path);
  Reader reader;
  reader.table.rows.reserve(text.size() / 64);
  std::string_view rest = text;
  bool first = true;
  bool known = true;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const bool torn = end == std::string_view::npos;
    if (line == table_header() && !torn) {
      first = false;
      continue;
    }
    if (first) known = false;
    first = false;
    // A torn line is not used even where it reads well: its last value may lack digits.
    if (!known || torn)
      reader.malformed();
    else
      reader.line(line);
  }
  return std::move(reader.table);
}

}  // namespace assay::telemetry
