#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"
#include "probe/device_state.h"

namespace assay::probe {

namespace {

// Idle devices are far below; one that starts this hot is soon slowed down.
constexpr double kNearSlowdown_c = 15;
constexpr double kHot_c = 75;  // if the device does not report when it slows down
constexpr double kPowerTolerance_w = 1;

/// An observation about one device.
struct Remark {
  Level level = Level::pass;
  std::string text;
  std::string advice{};
};
using Remarks = std::vector<Remark>;

std::string reason_for(const DeviceState& device, const std::string& key) {
  const auto found = device.unknown.find(key);
  return found == device.unknown.end() ? "not told" : printable(found->second);
}
bool lacks(const DeviceState& device, const std::string& key) {
  return reason_for(device, key) == kNotSupported;
}
Remark unknown(const DeviceState& device, const std::string& key, std::string_view what) {
  return {Level::warn, fmt::format("{} unknown: {}", what, reason_for(device, key)),
          "nothing was found wrong, but it could not be looked at: ask the vendor's tool, or use "
          "a newer driver"};
}

Remarks answers(const DeviceState& device) {
  if (!device.error.empty())
    return {{Level::fail, "does not answer: " + printable(device.error),
             "see dmesg; reset the device or reboot"}};
  return {{Level::pass, "answers"}};
}

Remarks ecc(const DeviceState& device) {
  if (!device.ecc) return {unknown(device, "ecc", "ECC")};
  Remarks out;
  if (!*device.ecc)
    out.push_back({Level::warn, "ECC is off",
                   "errors of memory go unseen, and it is not what others measure: turn it on "
                   "(NVIDIA: nvidia-smi -e 1, then a reset)"});
  if (device.ecc_pending && *device.ecc_pending != *device.ecc)
    out.push_back({Level::warn, "ECC changes with the next reset", "reset the device first"});
  if (!*device.ecc) return out;
  if (!device.ecc_uncorrected) {
    out.push_back(unknown(device, "ecc_uncorrected", "uncorrected errors"));
  } else if (*device.ecc_uncorrected > 0) {
    out.push_back({Level::fail,
                   counted(*device.ecc_uncorrected, "uncorrected error") + " since the last reset",
                   "its memory is not reliable: reset the device; if it happens again, have it "
                   "replaced"});
  } else if (device.uncorrected_ever.value_or(0) > 0) {
    out.push_back({Level::warn,
                   counted(*device.uncorrected_ever, "uncorrected error") + " in its life",
                   "watch this device; have it replaced if there are more"});
  }
  if (out.empty())
    out.push_back(
        {Level::pass, device.ecc_corrected.value_or(0) == 0
                          ? std::string("ECC on, no errors")
                          : "ECC on, " + counted(*device.ecc_corrected, "corrected error")});
  return out;
}

Remarks remapped_rows(const DeviceState& device) {
  if (!device.rows_failed || !device.rows_pending)
    return {unknown(device, "rows_failed", "remapped rows")};
  if (*device.rows_failed)
    return {{Level::fail, "a row of memory could not be remapped",
             "its memory has no rows left: have the device replaced"}};
  if (*device.rows_pending)
    return {{Level::warn, "rows of memory wait to be remapped", "reset the device first"}};
  const std::uint64_t rows =
      device.rows_corrected.value_or(0) + device.rows_uncorrected.value_or(0);
  return {{Level::pass, rows == 0 ? "none" : counted(rows, "row")}};
}

// An idle link trains down to a lower generation, but keeps its width.
Remarks pcie(const DeviceState& device) {
  if (!device.pcie_generation || !device.pcie_generation_max)
    return {unknown(device, "pcie_generation", "PCIe generation")};
  if (!device.pcie_width || !device.pcie_width_max)
    return {unknown(device, "pcie_width", "PCIe width")};
  const std::string seen =
      fmt::format("generation {} of {}, {} of {} lanes", *device.pcie_generation,
                  *device.pcie_generation_max, *device.pcie_width, *device.pcie_width_max);
  const std::string advice =
      "the slot, a riser or a switch holds it back: transfers from and to the host are slower";
  if (*device.pcie_width < *device.pcie_width_max) return {{Level::warn, seen, advice}};
  if (*device.pcie_generation >= *device.pcie_generation_max) return {{Level::pass, seen}};
  if (device.full_speed == true) return {{Level::warn, seen, advice}};
  return {{Level::pass, seen + " (a link at rest trains down)"}};
}

Remarks links(const DeviceState& device) {
  if (!device.links || !device.links_active) {
    if (lacks(device, "links")) return {{Level::pass, "none, or the device does not tell"}};
    return {unknown(device, "links", "links to other devices")};
  }
  const std::string seen = fmt::format("{} of {} active", *device.links_active, *device.links);
  if (*device.links_active == 0) return {{Level::pass, seen + ": it stands alone"}};
  if (*device.links_active == *device.links) return {{Level::pass, seen}};
  return {{Level::warn, seen,
           "collectives are slower over fewer links: look at cables, switches and the fabric "
           "manager"}};
}

Remarks persistence(const DeviceState& device) {
  if (!device.persistence) return {unknown(device, "persistence", "persistence mode")};
  if (*device.persistence) return {{Level::pass, "on"}};
  return {{Level::warn, "off",
           "the driver starts the device again for every program, and clocks and limits are lost "
           "in between: turn it on (NVIDIA: nvidia-smi -pm 1, or nvidia-persistenced)"}};
}

Remarks clocks(const DeviceState& device) {
  const std::string highest =
      device.clock_max_mhz ? fmt::format("up to {:.0f} MHz", *device.clock_max_mhz) : "";
  if (!device.clock_set_mhz || !device.clock_default_mhz) {
    const std::string key = device.clock_set_mhz ? "clock_default_mhz" : "clock_set_mhz";
    if (lacks(device, key) && !highest.empty())
      return {{Level::pass, highest + ", none can be set for applications"}};
    return {unknown(device, key, "clock of applications")};
  }
  const std::string seen = fmt::format("{:.0f} MHz for applications, {:.0f} by default",
                                       *device.clock_set_mhz, *device.clock_default_mhz);
  if (*device.clock_set_mhz < *device.clock_default_mhz)
    return {{Level::warn, seen, "reset it (NVIDIA: nvidia-smi -rac), or say so with the result"}};
  return {{Level::pass, highest.empty() ? seen : seen + ", " + highest}};
}

Remarks partitions(const DeviceState& device) {
  if (!device.partitioned) {
    if (lacks(device, "partitioned")) return {{Level::pass, "not supported"}};
    return {unknown(device, "partitioned", "MIG")};
  }
  Remarks out;
  if (*device.partitioned)
    out.push_back({Level::warn, "on",
                   "power, energy, clocks and memory are those of the whole device, whoever else "
                   "works on it: turn MIG off to measure a device"});
  if (device.partitioned_pending && *device.partitioned_pending != *device.partitioned)
    out.push_back({Level::warn, "changes with the next reset", "reset the device first"});
  if (out.empty()) out.push_back({Level::pass, "off"});
  return out;
}

Remarks power_limit(const DeviceState& device) {
  if (!device.power_limit_w) return {unknown(device, "power_limit_w", "power limit")};
  const std::string limit = format_number(*device.power_limit_w) + " W";
  if (!device.power_limit_default_w) {
    Remark remark = unknown(device, "power_limit_default_w", limit + ", default");
    return {std::move(remark)};
  }
  if (std::abs(*device.power_limit_w - *device.power_limit_default_w) <= kPowerTolerance_w)
    return {{Level::pass, limit + ", as by default"}};
  const std::string usual = format_number(*device.power_limit_default_w);
  return {{Level::warn, fmt::format("{}, {} W by default", limit, usual),
           fmt::format("numbers do not compare with those at the default: set it (NVIDIA: "
                       "nvidia-smi -pl {:.0f}), or say so with the result",
                       *device.power_limit_default_w)}};
}

Remarks temperature(const DeviceState& device) {
  if (!device.temp_c) return {unknown(device, "temp_c", "temperature")};
  const std::string seen = format_number(*device.temp_c) + " °C";
  if (!device.slowdown_c) {
    const Level level = *device.temp_c >= kHot_c ? Level::warn : Level::pass;
    return {{level, seen + "; it does not tell where heat slows it down",
             level == Level::pass ? "" : "let it cool down, and check its fans"}};
  }
  const std::string where = fmt::format("{}, slowed from {:.0f} °C on", seen, *device.slowdown_c);
  if (*device.temp_c >= *device.slowdown_c)
    return {{Level::fail, where, "heat slows it down: let it cool down, and check its cooling"}};
  if (*device.temp_c >= *device.slowdown_c - kNearSlowdown_c)
    return {{Level::warn, where, "let it cool down, and check its cooling"}};
  return {{Level::pass, where}};
}

Remarks processes(const DeviceState& device) {
  if (device.prohibited == true)
    return {{Level::fail, "no program may compute on it",
             "allow it (NVIDIA: nvidia-smi -c 0), or choose another device"}};
  if (!device.processes) return {unknown(device, "processes", "processes")};
  if (device.processes->empty()) return {{Level::pass, "none"}};
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> names;
  for (const DeviceProcess& process : *device.processes) {
    if (names.size() == kNamed) break;
    names.push_back(process.name.empty() ? std::to_string(process.pid)
                                         : fmt::format("{} ({})", process.pid,
                                                       ellipsize(printable(process.name), 40)));
  }
  if (device.processes->size() > kNamed)
    names.push_back(fmt::format("{} more", device.processes->size() - kNamed));
  return {{Level::warn, "used by " + join(names, ", "),
           "these programs share the device: end them, or choose other devices"}};
}

std::string devices_text(const std::vector<int>& indices, std::size_t all) {
  if (indices.size() == all && all > 1) return fmt::format("all {} devices", all);
  std::string out = indices.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    if (i > 0) out += ", ";
    out += std::to_string(indices[i]);
    if (last > i + 1) out += fmt::format("–{}", indices[last]);
    if (last > i + 1) i = last;
  }
  return out;
}

/// A single check over all devices, grouping those with the same result; it passes only if all do.
Check put_together(const std::string& id, const std::vector<DeviceState>& devices,
                   Remarks (*look)(const DeviceState&)) {
  struct Group {
    Remark remark;
    std::vector<int> indices;
  };
  std::vector<Group> groups;
  Level level = Level::pass;
  for (const DeviceState& device : devices)
    for (Remark& remark : look(device)) {
      level = std::max(level, remark.level);
      const auto same = std::ranges::find_if(groups, [&](const Group& group) {
        return group.remark.level == remark.level && group.remark.text == remark.text;
      });
      if (same != groups.end())
        same->indices.push_back(device.index);
      else
        groups.push_back({std::move(remark), {device.index}});
    }
  std::vector<std::string> seen;
  std::vector<std::string> advice;
  for (const Group& group : groups) {
    if (level > Level::pass && group.remark.level == Level::pass) continue;
    seen.push_back(groups.size() == 1 && level == Level::pass
                       ? group.remark.text
                       : devices_text(group.indices, devices.size()) + ": " + group.remark.text);
    if (group.remark.level == level && !group.remark.advice.empty() &&
        std::ranges::find(advice, group.remark.advice) == advice.end())
      advice.push_back(group.remark.advice);
  }
  return {id, level, join(seen, "; "), join(advice, "; ")};
}

Check check_driver(const DeviceStates& states) {
  std::vector<std::string> parts;
  if (!states.driver.empty()) parts.push_back("driver " + printable(states.driver));
  if (!states.library.empty()) parts.push_back("library " + printable(states.library));
  if (!states.runtime.empty()) parts.push_back(printable(states.runtime));
  if (!states.driver.empty()) return {"driver", Level::pass, join(parts, ", "), ""};
  parts.insert(parts.begin(), "version of the driver unknown");
  return {"driver", Level::warn, join(parts, ", "),
          "results of different drivers do not compare: look it up by hand"};
}

}  // namespace

std::vector<Check> check_device_states(const DeviceStates& states) {
  if (!states.problem.empty())
    return {{"device-state", Level::warn, "not known: " + printable(states.problem),
             "memory errors, links, limits and clocks of the devices could not be looked at"}};
  std::vector<Check> out;
  out.push_back(put_together("device-state", states.devices, answers));
  out.push_back(check_driver(states));
  std::vector<DeviceState> there;
  for (const DeviceState& device : states.devices)
    if (device.error.empty()) there.push_back(device);
  if (there.empty()) return out;
  const std::vector<std::pair<const char*, Remarks (*)(const DeviceState&)>> checks{
      {"ecc", ecc},
      {"remapped-rows", remapped_rows},
      {"pcie", pcie},
      {"device-links", links},
      {"persistence", persistence},
      {"device-clocks", clocks},
      {"mig", partitions},
      {"power-limit", power_limit},
      {"device-heat", temperature},
      {"device-users", processes}};
  for (const auto& [id, look] : checks) out.push_back(put_together(id, there, look));
  return out;
}

}  // namespace assay::probe
