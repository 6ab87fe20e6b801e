#include "judge/case_identity.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json_access.h"
#include "core/text.h"
#include "judge/result.h"
#include "plan/plan.h"

namespace assay::judge {

namespace {

constexpr std::array<std::string_view, 8> kWork{"model",
                                                "data",
                                                "config.data",
                                                "config.path",
                                                "config.glyph_size",
                                                "config.sequence",
                                                "config.train_size",
                                                "target"};

// Console and hypervisor adapters do no training.
constexpr std::array<std::string_view, 6> kConsoleAdapters{"",     "aspeed", "matrox",
                                                           "qemu", "vmware", "virtio"};

template <class Case>
std::string identity_of(const Case& one) {
  const std::string placed =
      fmt::format("{}:{}:{}:{}:{}", one.model, one.framework, one.hardware, one.nodes, one.procs);
  if (!one.name.starts_with(placed + ":")) return one.name;
  const std::string_view rounds = std::string_view(one.name).substr(placed.size() + 1);
  const bool number =
      !rounds.empty() && std::ranges::all_of(rounds, [](char c) { return c >= '0' && c <= '9'; });
  return number ? placed : one.name;
}

// Names with their counts, sorted: "8 × NVIDIA H200".
std::string counted_names(const std::map<std::string, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts)
    parts.push_back(count == 1 ? name : fmt::format("{} × {}", count, name));
  return join(parts, ", ");
}

std::string device_name(const Json& device) {
  if (std::string name = any_text_at(device, "name"); !name.empty()) return name;
  // The PCI bus only gives numbers.
  const std::string vendor = any_text_at(device, "vendor");
  if (std::ranges::find(kConsoleAdapters, vendor) != kConsoleAdapters.end()) return {};
  return vendor + " " + any_text_at(device, "device_id");
}

std::string node_kind(const Json& node) {
  const Json& cpu = object_at(node, "cpu");
  std::string model = any_text_at(cpu, "model");
  if (model.empty()) model = any_text_at(node, "arch");
  if (model.empty()) return {};
  std::vector<std::string> parts;
  const auto sockets = integer_at(cpu, "sockets", 1);
  parts.push_back(sockets > 1 ? fmt::format("{} × {}", sockets, model) : model);
  for (const char* what : {"core", "thread"})
    if (const auto count = integer_at(cpu, (std::string(what) + "s").c_str()))
      parts.push_back(counted(*count, what));
  if (const auto limit = number_at(object_at(node, "cgroup"), "cpus"))
    parts.push_back(fmt::format("limited to {:g} CPUs", *limit));
  std::map<std::string, int> devices;
  const Json& listed = list_at(node, "devices");
  for (const Json& device : listed.empty() ? list_at(node, "accelerators") : listed)
    if (const std::string name = device_name(device); !name.empty()) ++devices[name];
  if (!devices.empty()) parts.push_back(counted_names(devices));
  return printable(join(parts, ", "));
}

}  // namespace

std::string case_identity(const CaseResult& result) {
  return identity_of(result);
}

std::string case_identity(const plan::CasePlan& plan) {
  return identity_of(plan);
}

std::map<std::string, std::string> work_of(const std::vector<plan::Setting>& settings) {
  std::map<std::string, std::string> out;
  for (const plan::Setting& setting : settings)
    if (std::ranges::find(kWork, setting.key) != kWork.end())
      out[setting.key] =
          setting.value.is_string() ? setting.value.get<std::string>() : dump_line(setting.value);
  return out;
}

std::string work_difference(const std::map<std::string, std::string>& first,
                            const std::map<std::string, std::string>& second) {
  const auto shown = [](const std::map<std::string, std::string>& of, const std::string& key) {
    const auto found = of.find(key);
    return found == of.end() ? "not set" : printable(ellipsize(found->second, 80));
  };
  for (const auto& from : {&first, &second})
    for (const auto& [key, value] : *from)
      if (shown(first, key) != shown(second, key))
        return fmt::format("{} is {} and {}", key, shown(first, key), shown(second, key));
  return {};
}

std::string hardware_kind(const Json& system, int nodes) {
  const Json& all = list_at(system, "nodes");
  std::map<std::string, int> kinds;
  int seen = 0;
  for (const Json& node : all) {
    if (integer_at(node, "node", seen) >= nodes) continue;
    const std::string kind = node_kind(node);
    if (kind.empty()) return {};
    ++kinds[kind];
    ++seen;
  }
  if (seen == 0 || seen < nodes) return {};
  if (seen == 1) return kinds.begin()->first;
  std::map<std::string, int> in_brackets;
  for (const auto& [kind, count] : kinds) in_brackets["(" + kind + ")"] = count;
  return counted_names(in_brackets);
}

}  // namespace assay::judge
