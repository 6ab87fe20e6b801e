#include "probe/readings.h"

#include <algorithm>
#include <set>

#include "core/cpu_set.h"
#include "core/files.h"
#include "core/parse_number.h"
#include "core/text.h"

namespace assay::probe {

namespace fs = std::filesystem;

namespace {

/// Value in a "key : value" line, as in /proc/cpuinfo.
std::optional<std::string> field(std::string_view line, std::string_view key) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) return std::nullopt;
  return std::string(trim(line.substr(colon + 1)));
}

/// The folders of this process's cgroup and its parents, nearest first, for a version 1 controller
/// or for version 2 (empty controller).
std::vector<fs::path> cgroup_folders(const fs::path& root, std::string_view controller) {
  const fs::path base =
      controller.empty() ? root / "sys/fs/cgroup" : root / "sys/fs/cgroup" / controller;
  std::vector<fs::path> out;
  const std::string text = read_file_or_empty(root / "proc/self/cgroup");
  for (const auto line : split(text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 3) continue;
    const auto controllers = split(parts[1], ',');
    const bool wanted = controller.empty()
                            ? parts[1].empty()
                            : std::ranges::find(controllers, controller) != controllers.end();
    if (!wanted) continue;
    fs::path relative = fs::path(std::string(parts[2])).lexically_normal().relative_path();
    while (!relative.empty() && relative.native().front() != '.') {
      out.push_back(base / relative);
      relative = relative.parent_path();
    }
  }
  out.push_back(base);  // a container sees its own cgroup here
  return out;
}

}  // namespace

std::string line_of(const fs::path& path) {
  const std::string content = read_file_or_empty(path);
  return std::string(trim(std::string_view(content).substr(0, content.find('\n'))));
}

std::optional<std::int64_t> number_of(const fs::path& path) {
  return parse_number<std::int64_t>(line_of(path));
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    out.push_back(it->path().filename().string());
  std::ranges::sort(out);
  return out;
}

std::string link_name(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? "" : target.filename().string();
}

std::optional<std::uint64_t> meminfo(const fs::path& root, std::string_view wanted) {
  const std::string text = read_file_or_empty(root / "proc/meminfo");
  for (const auto line : split(text, '\n')) {
    const auto value = field(line, wanted);
    if (!value) continue;
    const bool kib = value->ends_with(" kB");
    const auto number =
        parse_number<std::uint64_t>(trim(std::string_view(*value).substr(0, value->find(' '))));
    if (!number) return std::nullopt;
    return kib ? *number * 1024 : *number;
  }
  return std::nullopt;
}

std::optional<int> count_cpu_list(std::string_view list) {
  const auto cpus = CpuSet::parse(list);
  if (!cpus || cpus->empty()) return std::nullopt;
  return static_cast<int>(cpus->size());
}

CpuSet allowed_cpus(const fs::path& root) {
  const std::string text = read_file_or_empty(root / "proc/self/status");
  for (const auto line : split(text, '\n'))
    if (line.starts_with("Cpus_allowed_list:"))
      return CpuSet::parse(line.substr(line.find(':') + 1)).value_or(CpuSet{});
  return {};
}

Cpus read_cpus(const fs::path& root) {
  Cpus out;
  int processors = 0;
  const std::string text = read_file_or_empty(root / "proc/cpuinfo");
  for (const auto line : split(text, '\n')) {
    if (field(line, "processor")) ++processors;
    for (const char* key : {"model name", "Model", "cpu model", "Hardware"})
      if (const auto model = field(line, key); model && out.model.empty()) out.model = *model;
  }
  const fs::path cpus = root / "sys/devices/system/cpu";
  const auto online = count_cpu_list(line_of(cpus / "online"));
  std::set<std::pair<std::int64_t, std::int64_t>> cores;
  std::set<std::int64_t> sockets;
  std::set<std::string> governors;
  int present = 0;
  for (const std::string& name : names_in(cpus)) {
    if (!name.starts_with("cpu") || name.size() < 4 ||
        name.find_first_not_of("0123456789", 3) != std::string::npos)
      continue;
    if (number_of(cpus / name / "online") == 0) continue;
    ++present;
    const auto socket = number_of(cpus / name / "topology/physical_package_id");
    const auto core = number_of(cpus / name / "topology/core_id");
    if (socket) sockets.insert(*socket);
    if (socket && core) cores.emplace(*socket, *core);
    if (const std::string governor = line_of(cpus / name / "cpufreq/scaling_governor");
        !governor.empty())
      governors.insert(governor);
  }
  out.threads = online ? *online : present > 0 ? present : processors;
  out.cores = static_cast<int>(cores.size());
  out.sockets = static_cast<int>(sockets.size());
  out.governors.assign(governors.begin(), governors.end());
  if (const auto boost = number_of(cpus / "cpufreq/boost")) out.boost = *boost != 0;
  if (const auto no_turbo = number_of(cpus / "intel_pstate/no_turbo")) out.boost = *no_turbo == 0;
  return out;
}

std::optional<double> cgroup_cpus(const fs::path& root) {
  std::optional<double> least;
  const auto take = [&](double quota, double period) {
    if (quota > 0 && period > 0) least = std::min(least.value_or(1e9), quota / period);
  };
  for (const fs::path& folder : cgroup_folders(root, "")) {
    const std::string text = line_of(folder / "cpu.max");
    const auto parts = split(text, ' ');
    const auto quota = parse_number<double>(parts[0]);  // "max": unlimited
    const auto period =
        parts.size() > 1 ? parse_number<double>(parts[1]) : std::optional<double>(1e5);
    if (quota && period) take(*quota, *period);
  }
  for (const fs::path& folder : cgroup_folders(root, "cpu")) {
    const auto quota = number_of(folder / "cpu.cfs_quota_us");
    const auto period = number_of(folder / "cpu.cfs_period_us");
    if (quota && period) take(static_cast<double>(*quota), static_cast<double>(*period));
  }
  return least;
}

std::optional<std::uint64_t> cgroup_memory(const fs::path& root) {
  constexpr std::int64_t kUnlimited = std::int64_t{1}
                                      << 60;  // version 1 writes a huge number for unlimited
  std::optional<std::uint64_t> least;
  const auto take = [&](std::optional<std::int64_t> bytes) {
    if (!bytes || *bytes < 0 || *bytes >= kUnlimited) return;
    const auto limit = static_cast<std::uint64_t>(*bytes);
    least = least ? std::min(*least, limit) : limit;
  };
  for (const fs::path& folder : cgroup_folders(root, "")) take(number_of(folder / "memory.max"));
  for (const fs::path& folder : cgroup_folders(root, "memory"))
    take(number_of(folder / "memory.limit_in_bytes"));
  return least;
}

}  // namespace assay::probe
