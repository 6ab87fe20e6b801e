#include "telemetry/telemetry_table.h"

#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "core/parse_number.h"
#include "core/regular_file.h"
#include "core/text.h"
#include "core/units.h"
#include "telemetry/table_reader.h"

namespace assay::telemetry {

namespace {

// Calls `visit` with every field of the line until it returns false.
template <class Visit>
bool each_field(std::string_view line, Visit visit) {
  while (true) {
    const std::size_t comma = line.find(',');
    if (!visit(line.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    line.remove_prefix(comma + 1);
  }
}

template <class T>
bool to_number(std::string_view text, T& out) {
  const std::optional<T> number = parse_number<T>(text);
  if (number) out = *number;
  return number.has_value();
}

// The meaning of a row's fields, in order.
struct Field {
  enum class Role : std::uint8_t { mono_ns, wall_ns, source, value, ignored };
  Role role = Role::ignored;
  Column column{};

  [[nodiscard]] bool operator==(const Field&) const = default;
};
using Layout = std::vector<Field>;

Field field_of(std::string_view name) {
  using Role = Field::Role;
  if (name == "mono_ns") return {Role::mono_ns};
  if (name == "wall_ns") return {Role::wall_ns};
  if (name == "source") return {Role::source};
  if (const auto column = parse_column(name)) return {Role::value, *column};
  return {};
}

// Nothing if the line is not a header of telemetry.csv.
std::optional<Layout> parse_header(std::string_view line) {
  Layout layout;
  std::size_t required = 0;
  const bool unique = each_field(line, [&](std::string_view name) {
    const Field field = field_of(name);
    const bool known = field.role != Field::Role::ignored;
    for (const Field& earlier : layout)
      if (known && earlier == field) return false;
    if (known && field.role != Field::Role::value) ++required;
    layout.push_back(field);
    return true;
  });
  return unique && required == 3 ? std::optional(std::move(layout)) : std::nullopt;
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return std::hash<std::string_view>{}(text);
  }
};

}  // namespace

struct TableReader::State {
  std::optional<Layout> layout;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> sources;
  std::uint64_t impossible = 0;
  std::string first_impossible;

  bool read_row(std::string_view text, Row& row) {
    row = {};
    std::string_view source;
    std::size_t place = 0;
    const bool read = each_field(text, [&](std::string_view field) {
      if (place == layout->size()) return false;
      const Field& meaning = (*layout)[place++];
      switch (meaning.role) {
        case Field::Role::mono_ns:
          return to_number(field, row.mono_ns);
        case Field::Role::wall_ns:
          return to_number(field, row.wall_ns);
        case Field::Role::source:
          source = field;
          return !field.empty();
        case Field::Role::value: {
          double& value = row.values[meaning.column];
          return field.empty() || (to_number(field, value) && std::isfinite(value));
        }
        case Field::Role::ignored:
          break;
      }
      return true;
    });
    if (!read || place != layout->size()) return false;
    row.source = source_index(source);
    drop_impossible(row.values, [&](const ColumnInfo& column, double value) {
      if (impossible++ == 0)
        first_impossible =
            fmt::format("{} of {} is {}", column.name, printable(source), format_number(value));
    });
    return true;
  }

  std::uint32_t source_index(std::string_view name) {
    if (const auto known = sources.find(name); known != sources.end()) return known->second;
    const auto index = static_cast<std::uint32_t>(names.size());
    names.emplace_back(name);
    sources.emplace(name, index);
    return index;
  }
};

TableReader::TableReader() : state_(std::make_unique<State>()) {}
TableReader::~TableReader() = default;

const std::vector<std::string>& TableReader::sources() const noexcept {
  return state_->names;
}

std::uint64_t TableReader::impossible_values() const noexcept {
  return state_->impossible;
}

const std::string& TableReader::first_impossible() const noexcept {
  return state_->first_impossible;
}

TableReader::Line TableReader::read(std::string_view line, Row& row) {
  // A restarted agent appends to the file, including a header.
  const bool is_number = line.front() >= '0' && line.front() <= '9';
  if (auto header = is_number ? std::nullopt : parse_header(line)) {
    state_->layout = std::move(header);
    return Line::header;
  }
  return state_->layout && state_->read_row(line, row) ? Line::row : Line::malformed;
}

Table read_table(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec) && !ec) return {};
  const std::string text = read_regular_file(path);
  TableReader reader;
  Table table;
  table.rows.reserve(text.size() / 64);
  Row row;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const bool torn = end == std::string_view::npos;
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(torn ? rest.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    // A torn line is ignored even if it is readable: its last value may lack digits.
    const TableReader::Line what = torn ? TableReader::Line::malformed : reader.read(line, row);
    if (what == TableReader::Line::row) table.rows.push_back(row);
    if (what == TableReader::Line::malformed) ++table.malformed_rows;
  }
  table.sources = reader.sources();
  table.impossible_values = reader.impossible_values();
  table.first_impossible = reader.first_impossible();
  return table;
}

}  // namespace assay::telemetry
