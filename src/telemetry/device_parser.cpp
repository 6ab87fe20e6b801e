#include "telemetry/device_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/error.h"
#include "core/parse_number.h"
#include "core/text.h"
#include "telemetry/values.h"

namespace assay::telemetry {

namespace {

constexpr int kMaxDevices = 4096;
constexpr std::size_t kMaxPids = 256;
constexpr double kPercent = 0.01;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr double kKi = 1024;
constexpr std::array kRatioUnits{Unit{"%", kPercent}};
constexpr std::array kByteUnits{
    Unit{"B", 1},    Unit{"KiB", kKi}, Unit{"MiB", kKi* kKi}, Unit{"GiB", kKi* kKi* kKi},
    Unit{"kB", 1e3}, Unit{"KB", 1e3},  Unit{"MB", 1e6},       Unit{"GB", 1e9}};
constexpr std::array kPowerUnits{Unit{"W", 1}, Unit{"mW", 1e-3}, Unit{"uW", 1e-6}, Unit{"kW", 1e3}};
constexpr std::array kEnergyUnits{Unit{"J", 1},    Unit{"mJ", 1e-3}, Unit{"uJ", 1e-6},
                                  Unit{"kJ", 1e3}, Unit{"Wh", 3600}, Unit{"kWh", 3.6e6}};
constexpr std::array kTempUnits{Unit{"C", 1}, Unit{"c", 1}, Unit{"°C", 1}, Unit{"mC", 1e-3}};
constexpr std::array kClockUnits{Unit{"MHz", 1},    Unit{"Mhz", 1},    Unit{"Hz", 1e-6},
                                 Unit{"kHz", 1e-3}, Unit{"KHz", 1e-3}, Unit{"GHz", 1e3}};
constexpr std::array kRateUnits{
    Unit{"B/s", 1},    Unit{"KiB/s", kKi}, Unit{"MiB/s", kKi* kKi}, Unit{"GiB/s", kKi* kKi* kKi},
    Unit{"KB/s", 1e3}, Unit{"MB/s", 1e6},  Unit{"GB/s", 1e9}};

std::span<const Unit> units_of(Column column) {
  switch (info(column).quantity) {
    case Quantity::ratio:
      return kRatioUnits;
    case Quantity::bytes:
      return kByteUnits;
    case Quantity::power:
      return kPowerUnits;
    case Quantity::energy:
      return kEnergyUnits;
    case Quantity::temperature:
      return kTempUnits;
    case Quantity::frequency:
      return kClockUnits;
    case Quantity::rate:
      return kRateUnits;
    case Quantity::flag:
    case Quantity::count:
      break;
  }
  return {};
}

std::optional<double> unit_factor(Column column, std::string_view unit) {
  for (const Unit& known : units_of(column))
    if (known.name == unit) return known.factor;
  return std::nullopt;
}

// Recognizes what tools print for an unknown value: [N/A], [Not Supported], N/A, -, --, …
bool means_unknown(std::string_view text) {
  if (text.empty() || text.front() == '[' || text.front() == '<') return true;
  for (const std::string_view word : {"-", "--", "---", "/", "n/a", "na", "nan", "none", "null",
                                      "unknown", "not supported", "not available", "unsupported"})
    if (text.size() == word.size() &&
        std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
          return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
        }))
      return true;
  return false;
}

std::optional<std::uint64_t> hex(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  std::uint64_t value = 0;
  const char* const last = text.data() + text.size();
  const auto [end, ec] = std::from_chars(text.data() + 2, last, value, 16);
  return ec == std::errc{} && end == last ? std::optional(value) : std::nullopt;
}

void reset(DeviceReading& out) {
  out.index = -1;
  out.mono_ns = 0;
  out.values = {};
  out.error.clear();
  out.pids.clear();
}

std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

}  // namespace

double power_cap_from_reasons(std::uint64_t reasons) noexcept {
  constexpr std::uint64_t kSwPowerCap = 0x04;
  return (reasons & kSwPowerCap) != 0 ? 1 : 0;
}

double throttle_from_reasons(std::uint64_t reasons) noexcept {
  constexpr std::uint64_t kHwSlowdown = 0x08;
  constexpr std::uint64_t kSwThermal = 0x20;
  constexpr std::uint64_t kHwThermal = 0x40;
  constexpr std::uint64_t kPowerBrake = 0x80;
  return (reasons & (kHwSlowdown | kSwThermal | kHwThermal | kPowerBrake)) != 0 ? 1 : 0;
}

DeviceParser::DeviceParser(const DeviceSource& source, const std::string& where)
    : format_(source.format) {
  if (format_ == DeviceSource::Format::assay) return;
  for (const std::string& field : source.fields) fields_.push_back(parse_field(field, where));
  if (std::none_of(fields_.begin(), fields_.end(),
                   [](const Field& f) { return !f.skip && !f.index; }))
    throw Error(ErrorKind::config, "the device source has no fields", where,
                "name the columns of the output in 'fields', for example [index, util:%, power_w]");
  if (format_ != DeviceSource::Format::regex) return;
  try {
    pattern_ = Pattern(source.pattern);
  } catch (const PatternError& e) {
    throw Error(ErrorKind::config,
                fmt::format("the pattern '{}' cannot be used: {}", source.pattern, e.what()), where,
                "RE2 syntax: see docs/suite.md");
  }
  if (source.pattern.empty() || pattern_.groups() < fields_.size())
    throw Error(
        ErrorKind::config,
        fmt::format("the pattern has {} groups for {} fields", pattern_.groups(), fields_.size()),
        where, "give each field its group, in the same order");
}

DeviceParser::Field DeviceParser::parse_field(const std::string& text, const std::string& where) {
  Field field;
  if (text.empty()) {
    field.skip = true;
    return field;
  }
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (name == "index" && colon == std::string::npos) {
    field.index = true;
    return field;
  }
  const auto column = parse_column(name);
  if (!column) {
    std::vector<std::string> known{"index"};
    for (const ColumnInfo& info : kColumnTable) known.emplace_back(info.name);
    throw Error(
        ErrorKind::config,
        fmt::format("unknown field '{}' in a device source{}", name, did_you_mean(name, known)),
        where, "known: " + join(known, ", ") + "; \"\" skips a column");
  }
  field.column = *column;
  if (colon == std::string::npos) return field;
  const std::string unit = text.substr(colon + 1);
  if (*column == Column::mem_used_bytes && unit == "%") {
    field.percent = true;
    field.factor = kPercent;
    return field;
  }
  const auto factor = unit_factor(*column, unit);
  if (!factor) {
    std::vector<std::string> known;
    for (const Unit& candidate : units_of(*column)) known.emplace_back(candidate.name);
    throw Error(ErrorKind::config, fmt::format("'{}' is not a unit of {}", unit, name), where,
                known.empty() ? name + " has no unit" : "known: " + join(known, ", "));
  }
  field.factor = *factor;
  return field;
}

// Returns false for an invalid text. `used_share` receives memory given in percent.
bool DeviceParser::set_field(const Field& field, std::string_view text, DeviceReading& out,
                             double& used_share) {
  text = trim(text);
  if (field.skip) return true;
  if (field.index) {
    const auto index = parse_number<int>(text);
    if (!index || *index < 0 || *index >= kMaxDevices) return false;
    out.index = *index;
    return true;
  }
  if (means_unknown(text)) return true;
  double& slot = out.values[field.column];
  if (info(field.column).quantity == Quantity::flag) {
    // A flag may come from several columns; one active column is enough.
    std::optional<double> now;
    if (const auto mask = hex(text))
      now = field.column == Column::throttle ? throttle_from_reasons(*mask)
                                             : power_cap_from_reasons(*mask);
    if (text == "Active" || text == "1") now = 1;
    if (text == "Not Active" || text == "0") now = 0;
    if (now) slot = slot == 1 ? 1 : *now;
    return now.has_value();
  }
  double value = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || !std::isfinite(value)) return false;
  const std::string_view tail = trim(text.substr(static_cast<std::size_t>(end - text.data())));
  double factor = field.factor;
  bool percent = field.percent;
  if (!tail.empty()) {
    // A unit printed with the value overrides the configured one.
    percent = field.column == Column::mem_used_bytes && tail == "%";
    const auto printed = percent ? std::optional(kPercent) : unit_factor(field.column, tail);
    if (!printed) return false;
    factor = *printed;
  }
  value *= factor;
  if (value < 0 && field.column != Column::temp_c) return true;
  if (field.column == Column::util) {
    if (value > 1.05) return false;  // most likely percent without ":%"
    value = std::min(value, 1.0);
  }
  (percent ? used_share : slot) = value;
  return true;
}

// Converts memory given in percent to bytes.
void DeviceParser::finish(DeviceReading& out, double used_share) {
  const double total = out.values[Column::mem_total_bytes];
  if (used_share == used_share && total == total)
    out.values[Column::mem_used_bytes] = used_share * total;
}

DeviceParser::Line DeviceParser::parse_csv(std::string_view line, DeviceReading& out) const {
  double used_share = kUnknown;
  bool more = true;
  for (const Field& field : fields_) {
    if (!more) return Line::nonsense;
    more = line.find(',') != std::string_view::npos;
    if (!set_field(field, take(line, ','), out, used_share)) return Line::nonsense;
  }
  finish(out, used_share);
  return Line::reading;
}

// "dev=0 mono_ns=… util=0.5 power_w=57.1 … reasons=0x0 error=…": ignores unknown keys, which later
// versions of the sampler may add.
DeviceParser::Line DeviceParser::parse_assay(std::string_view line, DeviceReading& out) {
  while (!line.empty()) {
    const std::string_view word = take(line, ' ');
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return Line::nonsense;
    const std::string_view key = word.substr(0, equals);
    const std::string_view value = word.substr(equals + 1);
    if (key == "dev") {
      const auto index = parse_number<int>(value);
      if (!index || *index < 0 || *index >= kMaxDevices) return Line::nonsense;
      out.index = *index;
    } else if (key == "mono_ns") {
      const auto mono = parse_number<std::int64_t>(value);
      if (!mono) return Line::nonsense;
      out.mono_ns = *mono;
    } else if (key == "error") {
      out.error = value;
    } else if (key == "pids") {
      std::string_view rest = value;
      while (!rest.empty() && out.pids.size() < kMaxPids) {
        const auto pid = parse_number<int>(take(rest, ','));
        if (!pid || *pid <= 0) return Line::nonsense;
        out.pids.push_back(*pid);
      }
    } else if (const auto column = parse_column(key)) {
      const auto number = parse_number<double>(value);
      if (!number || !std::isfinite(*number)) return Line::nonsense;
      out.values[*column] = *number;
    }
  }
  return out.index < 0 ? Line::nonsense : Line::reading;
}

bool DeviceParser::from_match(const Pattern::Groups& match, DeviceReading& out) const {
  reset(out);
  double used_share = kUnknown;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (!set_field(fields_[i], match[i + 1].value_or(""), out, used_share)) return false;
  }
  finish(out, used_share);
  return true;
}

bool DeviceParser::is_title(std::string_view line) const {
  return format_ == DeviceSource::Format::csv &&
         std::none_of(line.begin(), line.end(), [](char c) { return c >= '0' && c <= '9'; });
}

DeviceParser::Line DeviceParser::parse_line(std::string_view line, DeviceReading& out) const {
  line = trim(line);
  reset(out);
  if (line.empty()) return Line::nothing;
  switch (format_) {
    case DeviceSource::Format::assay:
      return line.front() == '#' ? Line::nothing : parse_assay(line, out);
    case DeviceSource::Format::csv:
      return parse_csv(line, out);
    case DeviceSource::Format::regex:
      break;
  }
  line = line.substr(0, kMaxOutput);
  // Screens have frames and titles between the devices, so a line without a match is normal.
  const auto match = pattern_.search(line);
  if (!match) return Line::nothing;
  return from_match(*match, out) ? Line::reading : Line::nonsense;
}

DeviceParser::Output DeviceParser::parse_output(std::string_view text) const {
  Output out;
  text = text.substr(0, kMaxOutput);
  DeviceReading reading;
  const auto nonsense = [&](std::string_view what) {
    if (out.nonsense++ == 0) out.first_nonsense = ellipsize(printable(trim(what)), 120);
  };
  const auto accept = [&] {
    if (reading.index < 0) reading.index = static_cast<int>(out.readings.size());
    if (out.readings.size() < static_cast<std::size_t>(kMaxDevices))
      out.readings.push_back(reading);
  };
  if (format_ == DeviceSource::Format::regex) {
    for (const Pattern::Groups& match : pattern_.search_all(text)) {
      if (from_match(match, reading))
        accept();
      else
        nonsense(match[0].value_or(""));
    }
    if (out.readings.empty() && out.nonsense == 0 && !trim(text).empty()) nonsense(text);
    return out;
  }
  for (bool first = true; !text.empty(); first = false) {
    const std::string_view line = take(text, '\n');
    if (first && is_title(line)) continue;
    switch (parse_line(line, reading)) {
      case Line::reading:
        accept();
        break;
      case Line::nonsense:
        nonsense(line);
        break;
      case Line::nothing:
        break;
    }
  }
  return out;
}

}  // namespace assay::telemetry
