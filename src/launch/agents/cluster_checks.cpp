#include "launch/agents/cluster_checks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "core/units.h"

namespace assay::launch {

namespace {

using probe::Check;
using probe::Level;
using probe::Listing;

constexpr double kMemoryTolerance = 0.02;
constexpr std::size_t kNamed = 8;

// "2 × NVIDIA H200", or what the PCI bus shows when the vendor's tool fails.
std::string devices_of(const Json& system) {
  std::map<std::string, int> counts;
  const char* key =
      system.contains("devices") && !system["devices"].empty() ? "devices" : "accelerators";
  if (!system.contains(key) || !system[key].is_array()) return "none";
  for (const Json& device : system[key]) {
    std::string name = any_text_at(device, "name");
    if (name.empty()) name = any_text_at(device, "vendor") + " " + any_text_at(device, "device_id");
    ++counts[name];
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} × {}", count, name));
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string driver_of(const Json& system) {
  if (std::string nvidia = any_text_at(system, "nvidia_driver"); !nvidia.empty()) return nvidia;
  std::set<std::string> drivers;
  if (system.contains("accelerators") && system["accelerators"].is_array())
    for (const Json& device : system["accelerators"])
      if (std::string driver = any_text_at(device, "driver"); !driver.empty())
        drivers.insert(driver);
  return join(std::vector<std::string>(drivers.begin(), drivers.end()), ", ");
}

std::map<std::string, std::string> properties(const Json& system) {
  const Json& cpu = object_at(system, "cpu");
  return {{"OS", any_text_at(system, "os")},
          {"kernel", any_text_at(system, "kernel")},
          {"driver", driver_of(system)},
          {"devices", devices_of(system)},
          {"CPU", any_text_at(cpu, "model")},
          {"CPU cores", any_text_at(cpu, "cores")},
          {"CPU threads", any_text_at(cpu, "threads")}};
}

double memory_of(const Json& system) {
  return number_at(object_at(system, "memory"), "total_bytes", 0.0);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

std::string shown(const std::string& value) {
  return value.empty() ? "unknown" : ellipsize(printable(value), 60);
}

std::string contents(const Listing& listing) {
  return fmt::format("{} entries, {}", listing.entries,
                     format_bytes(static_cast<double>(listing.bytes)));
}

// What is compared: a listing that was cut holds less, and is not the same as a whole one.
std::string identity(const Listing& listing) {
  return listing.hash + (listing.complete ? "" : " cut");
}

}  // namespace

std::string majority(const std::map<int, std::string>& by_node) {
  std::map<std::string, int> counts;
  for (const auto& [node, value] : by_node) ++counts[value];
  std::string best;
  int votes = 0;
  for (const auto& [node, value] : by_node)
    if (counts[value] > votes) {
      votes = counts[value];
      best = value;
    }
  return best;
}

std::map<int, Check> compare_systems(const std::map<int, Json>& systems) {
  std::map<std::string, std::map<int, std::string>> by_property;
  std::vector<double> memories;
  for (const auto& [node, system] : systems) {
    for (const auto& [name, value] : properties(system)) by_property[name][node] = value;
    if (const double bytes = memory_of(system); bytes > 0) memories.push_back(bytes);
  }
  const double usual_memory = median(memories);
  std::map<std::string, std::string> usual;
  for (const auto& [name, values] : by_property) usual[name] = majority(values);
  std::map<int, Check> checks;
  for (const auto& [node, system] : systems) {
    std::vector<std::string> differences;
    for (const auto& [name, values] : by_property)
      if (values.at(node) != usual[name])
        differences.push_back(
            fmt::format("{} {} (others: {})", name, shown(values.at(node)), shown(usual[name])));
    const double memory = memory_of(system);
    if (memory > 0 && std::abs(memory - usual_memory) > kMemoryTolerance * usual_memory)
      differences.push_back(
          fmt::format("memory {} (others: {})", format_bytes(memory), format_bytes(usual_memory)));
    if (differences.empty())
      checks[node] = {"alike", Level::pass, "as most hosts", ""};
    else
      checks[node] = {"alike", Level::warn, join(differences, "; "),
                      "the slowest host sets the pace of all: use hosts of one kind, or judge "
                      "them apart"};
  }
  return checks;
}

std::map<int, Check> compare_listings(const std::map<int, std::vector<Listing>>& listings,
                                      const std::vector<std::string>& hosts) {
  std::map<std::string, std::map<int, const Listing*>> by_path;
  for (const auto& [node, list] : listings)
    for (const Listing& listing : list) by_path[listing.path][node] = &listing;
  std::map<int, std::vector<std::string>> wrong;
  std::map<int, std::vector<std::string>> unsure;
  std::map<int, std::vector<std::string>> fine;
  for (const auto& [path, nodes] : by_path) {
    std::map<int, std::string> identities;
    for (const auto& [node, listing] : nodes)
      if (listing->problem.empty() && listing->comparable) identities[node] = identity(*listing);
    const std::string usual = majority(identities);
    const auto reference =
        std::ranges::find_if(identities, [&](const auto& entry) { return entry.second == usual; });
    for (const auto& [node, listing] : nodes) {
      const std::string name = printable(path);
      if (!listing->problem.empty()) {
        wrong[node].push_back(fmt::format("{}: {}", name, listing->problem));
      } else if (!listing->comparable) {
        unsure[node].push_back(
            fmt::format("{}: the listing took too long, stopped after {} entries; not compared",
                        name, listing->entries));
      } else if (identities[node] != usual) {
        const Listing& other = *nodes.at(reference->first);
        wrong[node].push_back(
            fmt::format("{}: {}, but {} on {}{}", name, contents(*listing), contents(other),
                        hosts[static_cast<std::size_t>(reference->first)],
                        listing->entries == other.entries && listing->bytes == other.bytes
                            ? " with other names or sizes"
                            : ""));
      } else {
        fine[node].push_back(fmt::format("{}: {}{}", name, contents(*listing),
                                         listing->complete ? "" : " (the first ones)"));
      }
    }
  }
  std::map<int, Check> checks;
  for (const auto& [node, list] : listings) {
    if (list.empty()) continue;
    std::vector<std::string> seen = wrong[node];
    seen.insert(seen.end(), unsure[node].begin(), unsure[node].end());
    if (!wrong[node].empty())
      checks[node] = {"data", Level::fail, join(seen, "; "),
                      "copy the data to this host again, or correct the path"};
    else if (!unsure[node].empty())
      checks[node] = {"data", Level::warn, join(seen, "; "), "compare the data by hand"};
    else
      checks[node] = {"data", Level::pass, join(fine[node], "; "), ""};
  }
  return checks;
}

std::map<int, std::vector<int>> connection_plan(const std::vector<int>& nodes) {
  std::map<int, std::vector<int>> plan;
  const std::size_t count = nodes.size();
  if (count < 2) return plan;
  for (std::size_t i = 0; i < count; ++i) {
    std::set<int> targets;
    if (count <= kAllPairs || i == 0) {
      targets.insert(nodes.begin(), nodes.end());
    } else {
      targets = {nodes.front(), nodes[(i + 1) % count]};
    }
    targets.erase(nodes[i]);
    plan[nodes[i]].assign(targets.begin(), targets.end());
  }
  return plan;
}

std::map<int, Check> check_connections(const std::map<int, std::vector<agent::Reached>>& results,
                                       const std::vector<std::string>& hosts) {
  const auto name = [&](int node) {
    const auto at = static_cast<std::size_t>(node);
    return node >= 0 && at < hosts.size() ? hosts[at] : fmt::format("node {}", node);
  };
  std::map<int, Check> checks;
  for (const auto& [node, reached] : results) {
    std::vector<std::string> failures;
    std::size_t failed = 0;
    for (const agent::Reached& result : reached) {
      if (result.problem.empty() || ++failed > kNamed) continue;
      failures.push_back(
          fmt::format("{} → {}: {}", name(node), name(result.node), printable(result.problem)));
    }
    if (failed > kNamed) failures.push_back(fmt::format("and {} more", failed - kNamed));
    if (failed == 0)
      checks[node] = {
          "connect", Level::pass,
          fmt::format("reaches {} over TCP{}", counted(reached.size(), "other"),
                      results.size() > kAllPairs ? " (a ring and a star, not all pairs)" : ""),
          ""};
    else
      checks[node] = {"connect", Level::fail, join(failures, "; "),
                      "ranks would wait for each other in vain: open TCP between these hosts "
                      "(firewall, routes), also for ports that programs choose"};
  }
  return checks;
}

}  // namespace assay::launch
