#include "report/html_devices.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/units.h"
#include "page/table.h"
#include "report/html_parts.h"

namespace assay::report::html {

using page::Html;
using page::markup;

namespace {

constexpr const char* kBefore = "device_state";
constexpr const char* kAfter = "device_state_after";
constexpr std::size_t kMaxDeviceRows = 128;

// A column's text for a device; "" if the device does not report it.
struct StateColumn {
  const char* title;
  std::string (*text)(const Json& device);
};

std::string plain_value(const Json& device, const char* key) {
  const auto found = device.find(key);
  if (found == device.end()) return {};
  if (found->is_boolean()) return found->get<bool>() ? "on" : "off";
  if (found->is_number()) return format_number(found->get<double>());
  return found->is_string() ? found->get<std::string>() : std::string();
}

// "3 of 4", "700 of 1000 W": a value and its maximum.
std::string of_most(const Json& device, const char* key, const char* most, const char* unit) {
  const std::string value = plain_value(device, key);
  const std::string limit = plain_value(device, most);
  if (value.empty()) return {};
  return (limit.empty() || limit == value ? value : value + " of " + limit) + unit;
}

constexpr std::array<StateColumn, 9> kStateColumns{{
    {"ECC", [](const Json& d) { return plain_value(d, "ecc"); }},
    {"Errors not corrected", [](const Json& d) { return plain_value(d, "ecc_uncorrected"); }},
    {"Rows remapped",
     [](const Json& d) {
       const std::string bad = plain_value(d, "rows_uncorrected");
       const std::string good = plain_value(d, "rows_corrected");
       return bad.empty() && good.empty() ? std::string() : good + " + " + bad;
     }},
    {"PCIe",
     [](const Json& d) {
       const std::string width = of_most(d, "pcie_width", "pcie_width_max", "");
       const std::string generation = of_most(d, "pcie_generation", "pcie_generation_max", "");
       return width.empty() ? std::string() : "gen " + generation + " × " + width;
     }},
    {"Links", [](const Json& d) { return of_most(d, "links_active", "links", ""); }},
    {"Clock", [](const Json& d) { return of_most(d, "clock_set_mhz", "clock_max_mhz", " MHz"); }},
    {"Power limit",
     [](const Json& d) { return of_most(d, "power_limit_w", "power_limit_default_w", " W"); }},
    {"Persistence", [](const Json& d) { return plain_value(d, "persistence"); }},
    {"Temperature",
     [](const Json& d) {
       const std::string degrees = plain_value(d, "temp_c");
       return degrees.empty() ? degrees : degrees + " °C";
     }},
}};

const Json* devices_of(const Json& node, const char* key) {
  if (!node.is_object()) return nullptr;
  const auto state = node.find(key);
  if (state == node.end() || !state->is_object()) return nullptr;
  const auto devices = state->find("devices");
  return devices == state->end() || !devices->is_array() ? nullptr : &*devices;
}

// The same device later, found by its UUID, or by its number if it has none.
const Json* same_device(const Json& device, const Json* all) {
  if (all == nullptr) return nullptr;
  const char* key = device.contains("uuid") ? "uuid" : "index";
  const auto found = std::ranges::find_if(*all, [&](const Json& other) {
    return other.is_object() && other.contains(key) && device.contains(key) &&
           other[key] == device[key];
  });
  return found == all->end() ? nullptr : &*found;
}

page::Row device_row(const std::string& host, const Json& device, const Json* later) {
  page::Row row{
      {page::name(host), plain_value(device, "index") + " " + plain_value(device, "name")}};
  if (const std::string error = plain_value(device, "error"); !error.empty()) {
    page::Cell cell(error);
    cell.span = kStateColumns.size();
    row.cells.push_back(std::move(cell));
    row.css = "bad";
    return row;
  }
  for (const StateColumn& column : kStateColumns) {
    const std::string before = column.text(device);
    const std::string after = later == nullptr ? std::string() : column.text(*later);
    const bool changed = !before.empty() && !after.empty() && before != after;
    // Devices are warmer after work, which is not odd.
    if (changed && std::string_view(column.title) != "Temperature") row.css = "odd";
    row.cells.emplace_back(changed ? before + " → " + after : before.empty() ? "–" : before);
  }
  return row;
}

}  // namespace

Html device_states(const Json& system) {
  if (!system.is_object() || !system.contains("nodes") || !system["nodes"].is_array()) return {};
  page::Table table{{{"Node"}, {"Device"}}};
  for (const StateColumn& column : kStateColumns) table.columns.push_back({column.title});
  std::size_t devices = 0;
  bool later = false;
  for (const Json& node : system["nodes"]) {
    const Json* before = devices_of(node, kBefore);
    if (before == nullptr) continue;
    const Json* after = devices_of(node, kAfter);
    later = later || after != nullptr;
    for (const Json& device : *before) {
      if (!device.is_object() || ++devices > kMaxDeviceRows) continue;
      table.rows.push_back(
          device_row(plain_value(node, "host"), device, same_device(device, after)));
    }
  }
  if (devices == 0) return {};
  Html out = markup("<h3>Devices, {}</h3>\n{}",
                    later ? "before the first round → after the last" : "before the first round",
                    page::scrolling(page::to_html(table)));
  if (devices > kMaxDeviceRows)
    out += remark(
        markup("{} of {} devices; <code>system.json</code> has all.", kMaxDeviceRows, devices));
  return out;
}

Json without_device_states(Json system) {
  if (system.is_object() && system.contains("nodes") && system["nodes"].is_array())
    for (Json& node : system["nodes"])
      if (node.is_object() && devices_of(node, kBefore) != nullptr) {
        node.erase(kBefore);
        node.erase(kAfter);
      }
  return system;
}

}  // namespace assay::report::html
