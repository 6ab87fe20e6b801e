#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "telemetry/values.h"

namespace assay::telemetry {

/// A quantity measured by a device itself or by the machine's kernel, one per column. To add one: a
/// name here, its line in kColumnTable, its line in docs/telemetry.md (a test compares them).
enum class Column : std::uint8_t {
  util,
  mem_used_bytes,
  mem_total_bytes,
  power_w,
  energy_j,
  temp_c,
  clock_mhz,
  mem_clock_mhz,
  throttle,
  ecc_errors,
  power_limit_w,
  power_capped,
  clock_max_mhz,
  disk_read_bps,
  disk_write_bps,
  net_rx_bps,
  net_tx_bps,
};

/// A column's kind of value; it determines the units in which a vendor's tool may report it.
enum class Quantity : std::uint8_t {
  ratio,
  bytes,
  power,
  energy,
  temperature,
  frequency,
  rate,
  flag,
  count,
};
/// The unit in telemetry.csv, as written in the docs.
[[nodiscard]] constexpr std::string_view unit_of(Quantity quantity) noexcept {
  constexpr std::array<std::string_view, 9> kUnits{"0 to 1", "B",   "W",      "J",    "°C",
                                                   "MHz",    "B/s", "0 or 1", "count"};
  return kUnits[static_cast<std::size_t>(quantity)];
}

/// A column's range. A value outside is written as its source reported it and read as unknown: wide
/// enough for any real hardware, narrow enough to expose a wrong unit.
struct Bounds {
  double least = 0;
  double most = 0;
};
[[nodiscard]] constexpr Bounds bounds_of(Quantity quantity) noexcept {
  switch (quantity) {
    case Quantity::ratio:
    case Quantity::flag:
      return {0, 1};
    case Quantity::bytes:
      return {0, 1e16};
    case Quantity::power:
    case Quantity::frequency:
      return {0, 1e5};
    case Quantity::temperature:
      return {-100, 500};
    case Quantity::energy:
    case Quantity::rate:
    case Quantity::count:
      break;
  }
  return {0, 1e15};
}

/// A Prometheus metric family; a column without a name is not exported.
struct Family {
  std::string_view name;
  std::string_view help;
};

struct ColumnInfo {
  Column column;
  std::string_view name;  ///< in telemetry.csv's header and the fields of conf/vendors
  Quantity quantity;
  int decimals;  ///< significant digits after the decimal point
  std::string_view description;
  Family node;    ///< for the source "node"
  Family device;  ///< for the sources "dev<i>"
  Family part;    ///< for all others except single cores: packages, memory, platform, ipmi

  /// Whether it counts from an arbitrary start and never decreases.
  [[nodiscard]] constexpr bool is_counter() const noexcept {
    return quantity == Quantity::energy || quantity == Quantity::count;
  }
  /// Whether the column can hold this value; false for an unknown one.
  [[nodiscard]] constexpr bool holds(double value) const noexcept {
    const Bounds bounds = bounds_of(quantity);
    return value >= bounds.least && value <= bounds.most &&
           (quantity != Quantity::flag || value == 0 || value == 1);
  }
  /// Factor from the column's unit to Prometheus' base unit.
  [[nodiscard]] constexpr double base_factor() const noexcept {
    return quantity == Quantity::frequency ? 1e6 : 1;
  }
};

/// In file order. Everything that writes, reads, exports or documents columns uses this table.
inline constexpr auto kColumnTable = [] {
  const auto family = [](std::string_view name, std::string_view help) {
    return Family{name, help};
  };
  const auto column = [](Column which, std::string_view name, Quantity quantity, int decimals,
                         std::string_view description, const Family& node,
                         const Family& device = {}, const Family& part = {}) {
    return ColumnInfo{which, name, quantity, decimals, description, node, device, part};
  };
  return std::array{
      column(Column::util, "util", Quantity::ratio, 4,
             "busy share of the time since the previous row",
             family("assay_cpu_utilization_ratio", "Busy share of all cores."),
             family("assay_device_utilization_ratio", "Busy share of the device.")),
      column(Column::mem_used_bytes, "mem_used_bytes", Quantity::bytes, 0, "memory in use",
             family("assay_memory_used_bytes", "Memory that is not available."),
             family("assay_device_memory_used_bytes", "Device memory in use.")),
      column(Column::mem_total_bytes, "mem_total_bytes", Quantity::bytes, 0, "memory there is",
             family("assay_memory_size_bytes", "Memory of the node."),
             family("assay_device_memory_size_bytes", "Device memory.")),
      column(Column::power_w, "power_w", Quantity::power, 3, "power", Family{},
             family("assay_device_power_watts", "Power of the device."),
             family("assay_power_watts",
                    "Power of one source; sources overlap and are not to be added up.")),
      column(Column::energy_j, "energy_j", Quantity::energy, 3,
             "energy, a counter from an arbitrary start that never falls", Family{},
             family("assay_device_energy_joules_total",
                    "Energy of the device, from an arbitrary start."),
             family("assay_energy_joules_total", "Energy of one source, from an arbitrary start.")),
      column(Column::temp_c, "temp_c", Quantity::temperature, 1, "temperature", Family{},
             family("assay_device_temperature_celsius", "Temperature of the device.")),
      column(Column::clock_mhz, "clock_mhz", Quantity::frequency, 0,
             "clock of the cores, or of the device",
             family("assay_cpu_clock_hertz", "Mean clock of the cores."),
             family("assay_device_clock_hertz", "Clock of the device.")),
      column(Column::mem_clock_mhz, "mem_clock_mhz", Quantity::frequency, 0,
             "clock of the device's memory", Family{},
             family("assay_device_memory_clock_hertz", "Clock of the device's memory.")),
      column(Column::throttle, "throttle", Quantity::flag, 0,
             "1 while heat, the power brake or hardware slow the device down", Family{},
             family("assay_device_throttled",
                    "1 while heat, the power brake or hardware slow the device down, else 0.")),
      column(Column::ecc_errors, "ecc_errors", Quantity::count, 0,
             "errors that ECC could not correct, a counter", Family{},
             family("assay_device_ecc_errors_total", "Errors that ECC could not correct.")),
      column(Column::power_limit_w, "power_limit_w", Quantity::power, 3,
             "power that the device is held to", Family{},
             family("assay_device_power_limit_watts", "Power that the device is held to.")),
      column(Column::power_capped, "power_capped", Quantity::flag, 0,
             "1 while the power limit lowers the clock of the device", Family{},
             family("assay_device_power_capped",
                    "1 while the power limit lowers the clock of the device, else 0.")),
      column(Column::clock_max_mhz, "clock_max_mhz", Quantity::frequency, 0,
             "highest clock of the device", Family{},
             family("assay_device_clock_max_hertz", "Highest clock of the device.")),
      column(Column::disk_read_bps, "disk_read_bps", Quantity::rate, 0, "read from whole disks",
             family("assay_disk_read_bytes_per_second", "Read from whole disks.")),
      column(Column::disk_write_bps, "disk_write_bps", Quantity::rate, 0, "written to whole disks",
             family("assay_disk_write_bytes_per_second", "Written to whole disks.")),
      column(Column::net_rx_bps, "net_rx_bps", Quantity::rate, 0,
             "received by all outer interfaces",
             family("assay_network_receive_bytes_per_second", "Received by all outer interfaces.")),
      column(Column::net_tx_bps, "net_tx_bps", Quantity::rate, 0, "sent by all outer interfaces",
             family("assay_network_transmit_bytes_per_second", "Sent by all outer interfaces.")),
  };
}();
inline constexpr std::size_t kColumns = kColumnTable.size();

static_assert(
    [] {
      for (std::size_t i = 0; i < kColumns; ++i)
        if (static_cast<std::size_t>(kColumnTable[i].column) != i) return false;
      return true;
    }(),
    "kColumnTable has the order of Column");

[[nodiscard]] constexpr const ColumnInfo& info(Column column) noexcept {
  return kColumnTable[static_cast<std::size_t>(column)];
}

[[nodiscard]] constexpr std::optional<Column> parse_column(std::string_view name) noexcept {
  for (const ColumnInfo& column : kColumnTable)
    if (column.name == name) return column.column;
  return std::nullopt;
}

/// One source's values at one moment; NaN where unknown.
class Values {
 public:
  constexpr Values() { values_.fill(kUnknown); }
  [[nodiscard]] constexpr double& operator[](Column column) noexcept {
    return values_[static_cast<std::size_t>(column)];
  }
  [[nodiscard]] constexpr double operator[](Column column) const noexcept {
    return values_[static_cast<std::size_t>(column)];
  }
  /// In the order of kColumnTable.
  [[nodiscard]] constexpr auto begin() const noexcept { return values_.begin(); }
  [[nodiscard]] constexpr auto end() const noexcept { return values_.end(); }

 private:
  std::array<double, kColumns> values_{};
};

/// Makes values that their column cannot hold unknown, and calls `visit(column, value)` for each.
template <class Visit>
constexpr void drop_impossible(Values& values, const Visit& visit) {
  for (const ColumnInfo& column : kColumnTable) {
    double& value = values[column.column];
    if (value != value || column.holds(value)) continue;
    visit(column, value);
    value = kUnknown;
  }
}

}  // namespace assay::telemetry
