#include "probe/system_info.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "core/cpu_set.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/subprocess.h"
#include "core/text.h"
#include "probe/readings.h"

namespace assay::probe {

namespace {

namespace fs = std::filesystem;

/// Sets out[key] unless the text is empty.
void put(Json& out, const char* key, const std::string& text) {
  if (!text.empty()) out[key] = printable(text);
}

template <class T>
void put(Json& out, const char* key, const std::optional<T>& value) {
  if (value) out[key] = *value;
}

/// Leaves out a count that the machine does not report.
void put_count(Json& out, const char* key, int count) {
  if (count > 0) out[key] = count;
}

std::string os_name(const fs::path& root) {
  std::string text = read_file_or_empty(root / "etc/os-release");
  if (text.empty()) text = read_file_or_empty(root / "usr/lib/os-release");
  for (const auto line : split(text, '\n')) {
    if (!line.starts_with("PRETTY_NAME=")) continue;
    std::string_view name = trim(line.substr(12));
    if (name.size() >= 2 && (name.front() == '"' || name.front() == '\'') &&
        name.back() == name.front())
      name = name.substr(1, name.size() - 2);
    return std::string(name);
  }
  return {};
}

std::string machine_arch(const fs::path& root) {
  const std::string arch = line_of(root / "proc/sys/kernel/arch");  // since Linux 6.1
  utsname name{};
  return !arch.empty() ? arch : uname(&name) == 0 ? name.machine : "";
}

Json caches(const fs::path& root) {
  Json out = Json::array();
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  for (const std::string& index : names_in(folder)) {
    if (!index.starts_with("index")) continue;
    Json cache = Json::object();
    put(cache, "level", number_of(folder / index / "level"));
    put(cache, "type", to_lower(line_of(folder / index / "type")));
    put(cache, "size", line_of(folder / index / "size"));
    put(cache, "shared_by", count_cpu_list(line_of(folder / index / "shared_cpu_list")));
    if (!cache.empty()) out.push_back(std::move(cache));
  }
  return out;
}

Json cpu(const fs::path& root) {
  const Cpus cpus = read_cpus(root);
  Json out = Json::object();
  put(out, "model", cpus.model);
  put_count(out, "sockets", cpus.sockets);
  put_count(out, "cores", cpus.cores);
  put_count(out, "threads", cpus.threads);
  put(out, "numa_nodes", count_cpu_list(line_of(root / "sys/devices/system/node/online")));
  // Possible bindings for ranks: the CPUs this process may use, and the memory near each.
  put(out, "usable", allowed_cpus(root).text());
  Json numa = Json::object();
  const fs::path nodes = root / "sys/devices/system/node";
  for (const int node : CpuSet::parse(line_of(nodes / "online")).value_or(CpuSet{}).cpus())
    put(numa, std::to_string(node).c_str(),
        line_of(nodes / ("node" + std::to_string(node)) / "cpulist"));
  if (!numa.empty()) out["numa"] = std::move(numa);
  put(out, "governor", join(cpus.governors, ","));
  put(out, "boost", cpus.boost);
  const fs::path frequency = root / "sys/devices/system/cpu/cpu0/cpufreq";
  put(out, "driver", line_of(frequency / "scaling_driver"));
  if (const auto khz = number_of(frequency / "cpuinfo_max_freq")) out["max_mhz"] = *khz / 1000;
  if (Json list = caches(root); !list.empty()) out["caches"] = std::move(list);
  Json mitigations = Json::object();
  const fs::path folder = root / "sys/devices/system/cpu/vulnerabilities";
  for (const std::string& name : names_in(folder)) {
    const std::string state = line_of(folder / name);
    if (state.starts_with("Mitigation")) put(mitigations, name.c_str(), state);
  }
  if (!mitigations.empty()) out["mitigations"] = std::move(mitigations);
  return out;
}

Json memory(const fs::path& root) {
  Json out = Json::object();
  constexpr std::array<std::pair<const char*, const char*>, 6> kFields{
      {{"total_bytes", "MemTotal"},
       {"available_bytes", "MemAvailable"},
       {"swap_total_bytes", "SwapTotal"},
       {"swap_free_bytes", "SwapFree"},
       {"hugepage_bytes", "Hugepagesize"},
       {"hugepages", "HugePages_Total"}}};
  for (const auto& [key, field] : kFields) put(out, key, meminfo(root, field));
  put(out, "transparent_hugepages", line_of(root / "sys/kernel/mm/transparent_hugepage/enabled"));
  return out;
}

/// The machine's environment, if visible: a hypervisor's DMI name, a container's marks.
Json virtualization(const fs::path& root) {
  Json out = Json::object();
  static const std::array<std::pair<const char*, const char*>, 10> kHypervisors{
      {{"KVM", "kvm"},
       {"QEMU", "qemu"},
       {"VMware", "vmware"},
       {"VirtualBox", "virtualbox"},
       {"Xen", "xen"},
       {"Amazon EC2", "amazon"},
       {"Google", "google"},
       {"Microsoft", "hyper-v"},
       {"OpenStack", "openstack"},
       {"Alibaba", "alibaba"}}};
  const std::string dmi = line_of(root / "sys/class/dmi/id/sys_vendor") + " " +
                          line_of(root / "sys/class/dmi/id/product_name");
  for (const auto& [mark, name] : kHypervisors) {
    if (dmi.find(mark) == std::string::npos) continue;
    out["hypervisor"] = name;
    break;
  }
  const std::string cpuinfo = read_file_or_empty(root / "proc/cpuinfo");
  if (!out.contains("hypervisor") && cpuinfo.find(" hypervisor") != std::string::npos)
    out["hypervisor"] = "unknown";
  std::error_code ignored;
  if (fs::exists(root / ".dockerenv", ignored)) out["container"] = "docker";
  if (fs::exists(root / "run/.containerenv", ignored)) out["container"] = "podman";
  return out;
}

Json networks(const fs::path& root) {
  Json out = Json::array();
  const fs::path folder = root / "sys/class/net";
  for (const std::string& name : names_in(folder)) {
    if (name == "lo") continue;
    Json item{{"name", printable(name)}};
    put(item, "state", line_of(folder / name / "operstate"));
    // A link that is down reports -1 or nothing.
    if (const auto speed = number_of(folder / name / "speed"); speed && *speed > 0)
      item["speed_mbps"] = *speed;
    put(item, "mtu", number_of(folder / name / "mtu"));
    put(item, "driver", link_name(folder / name / "device/driver"));
    out.push_back(std::move(item));
  }
  for (const std::string& name : names_in(root / "sys/class/infiniband")) {
    const fs::path port = root / "sys/class/infiniband" / name / "ports/1";
    Json item{{"name", printable(name)}, {"type", "infiniband"}};
    put(item, "state", line_of(port / "state"));
    put(item, "rate", line_of(port / "rate"));
    out.push_back(std::move(item));
  }
  return out;
}

Json disks(const fs::path& root) {
  Json out = Json::array();
  const fs::path folder = root / "sys/block";
  for (const std::string& name : names_in(folder)) {
    if (name.starts_with("loop") || name.starts_with("ram") || name.starts_with("zram")) continue;
    Json item{{"name", printable(name)}};
    if (const auto sectors = number_of(folder / name / "size"))
      item["bytes"] = *sectors * 512;  // sysfs always counts in 512-byte sectors
    put(item, "model", line_of(folder / name / "device/model"));
    if (const auto rotational = number_of(folder / name / "queue/rotational"))
      item["rotational"] = *rotational != 0;
    out.push_back(std::move(item));
  }
  return out;
}

std::string vendor_name(const std::string& id) {
  static const std::map<std::string, std::string> kVendors{
      {"0x10de", "nvidia"},    {"0x1002", "amd"},      {"0x8086", "intel"},
      {"0x19e5", "huawei"},    {"0x1e3e", "iluvatar"}, {"0xcabc", "cambricon"},
      {"0x1d22", "kunlunxin"}, {"0x9999", "metax"},    {"0x1ed5", "mthreads"},
      {"0x1d94", "hygon"},     {"0x1a03", "aspeed"},   {"0x1234", "qemu"},
      {"0x15ad", "vmware"},    {"0x1af4", "virtio"},   {"0x1da3", "habana"},
      {"0x102b", "matrox"}};
  const auto found = kVendors.find(id);
  return found == kVendors.end() ? "" : found->second;
}

/// PCI devices of class 0x03 (display) and 0x12 (processing accelerator).
Json accelerators(const fs::path& root) {
  Json out = Json::array();
  const fs::path folder = root / "sys/bus/pci/devices";
  for (const std::string& address : names_in(folder)) {
    const std::string pci_class = line_of(folder / address / "class");
    if (!pci_class.starts_with("0x03") && !pci_class.starts_with("0x12")) continue;
    const std::string vendor = line_of(folder / address / "vendor");
    Json item{{"address", printable(address)}, {"class", pci_class}};
    put(item, "vendor_id", vendor);
    put(item, "vendor", vendor_name(vendor));
    put(item, "device_id", line_of(folder / address / "device"));
    put(item, "driver", link_name(folder / address / "driver"));
    if (const auto node = number_of(folder / address / "numa_node"); node && *node >= 0)
      item["numa_node"] = *node;
    put(item, "link_speed", line_of(folder / address / "current_link_speed"));
    put(item, "link_width", number_of(folder / address / "current_link_width"));
    out.push_back(std::move(item));
  }
  return out;
}

Json device_nodes(const fs::path& root) {
  static constexpr std::array<std::string_view, 9> kPrefixes{
      "nvidia", "davinci", "iluvatar", "cambricon_dev", "xpu", "mxcd", "mtgpu", "kfd", "accel"};
  Json out = Json::array();
  for (const std::string& name : names_in(root / "dev"))
    if (std::ranges::any_of(kPrefixes,
                            [&](std::string_view prefix) { return name.starts_with(prefix); }))
      out.push_back("/dev/" + printable(name));
  for (const std::string& name : names_in(root / "dev/dri"))
    if (name.starts_with("render")) out.push_back("/dev/dri/" + printable(name));
  return out;
}

Json limits() {
  static constexpr std::array<std::pair<const char*, int>, 5> kLimits{{{"nofile", RLIMIT_NOFILE},
                                                                       {"nproc", RLIMIT_NPROC},
                                                                       {"memlock", RLIMIT_MEMLOCK},
                                                                       {"stack", RLIMIT_STACK},
                                                                       {"core", RLIMIT_CORE}}};
  Json out = Json::object();
  for (const auto& [name, id] : kLimits) {
    rlimit limit{};
    if (getrlimit(static_cast<__rlimit_resource_t>(id), &limit) != 0) continue;
    const auto value = [](rlim_t number) -> Json {
      return number == RLIM_INFINITY ? Json("unlimited") : Json(number);
    };
    out[name] = Json{{"soft", value(limit.rlim_cur)}, {"hard", value(limit.rlim_max)}};
  }
  return out;
}

Json load(const fs::path& root) {
  Json out = Json::array();
  const std::string text = line_of(root / "proc/loadavg");
  for (const auto word : split(text, ' ')) {
    const auto value = parse_number<double>(word);
    if (!value || out.size() == 3) break;
    out.push_back(*value);
  }
  return out;
}

}  // namespace

Json system_info(const fs::path& root) {
  Json out = Json::object();
  put(out, "hostname", line_of(root / "proc/sys/kernel/hostname"));
  put(out, "os", os_name(root));
  put(out, "kernel", line_of(root / "proc/sys/kernel/osrelease"));
  put(out, "arch", machine_arch(root));
  put(out, "boot_id", line_of(root / "proc/sys/kernel/random/boot_id"));
  put(out, "clocksource",
      line_of(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"));
  const std::string uptime = line_of(root / "proc/uptime");
  double seconds = 0;
  if (std::from_chars(uptime.data(), uptime.data() + uptime.size(), seconds).ec == std::errc{})
    out["uptime_s"] = seconds;
  if (Json list = load(root); !list.empty()) out["load"] = std::move(list);
  out["cpu"] = cpu(root);
  out["memory"] = memory(root);
  if (Json found = virtualization(root); !found.empty()) out["virtualisation"] = std::move(found);
  out["networks"] = networks(root);
  out["disks"] = disks(root);
  out["accelerators"] = accelerators(root);
  if (Json nodes = device_nodes(root); !nodes.empty()) out["device_nodes"] = std::move(nodes);
  if (const std::string version = line_of(root / "proc/driver/nvidia/version"); !version.empty())
    put(out, "nvidia_driver", version);
  Json cgroup = Json::object();
  put(cgroup, "cpus", cgroup_cpus(root));
  put(cgroup, "memory_bytes", cgroup_memory(root));
  if (!cgroup.empty()) out["cgroup"] = std::move(cgroup);
  out["ulimits"] = limits();
  Json runtimes = Json::object();
  for (const char* name : {"podman", "docker", "apptainer", "singularity", "enroot"})
    put(runtimes, name, find_program(name));
  if (!runtimes.empty()) out["container_runtimes"] = std::move(runtimes);
  return out;
}

}  // namespace assay::probe
