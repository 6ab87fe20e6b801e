#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu_set.h"

namespace assay::probe {

// Small readings of procfs and sysfs below a root, shared by the description and the checks. An
// unreadable value is nothing, never zero.

/// A file's first line, trimmed; empty if unreadable.
[[nodiscard]] std::string line_of(const std::filesystem::path& path);
[[nodiscard]] std::optional<std::int64_t> number_of(const std::filesystem::path& path);
/// The names in a folder, sorted; empty if unreadable.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);
/// The last part of a link's target; empty if it is not a link.
[[nodiscard]] std::string link_name(const std::filesystem::path& path);

/// A field of /proc/meminfo ("MemAvailable") in bytes.
[[nodiscard]] std::optional<std::uint64_t> meminfo(const std::filesystem::path& root,
                                                   std::string_view field);

struct Cpus {
  std::string model;
  int threads = 0;  ///< online logical CPUs
  int cores = 0;
  int sockets = 0;
  std::vector<std::string> governors;  ///< distinct, sorted
  std::optional<bool> boost;
};
[[nodiscard]] Cpus read_cpus(const std::filesystem::path& root);

/// The number of CPUs that this process's cgroup may use at once, by its quota; nothing: unlimited.
[[nodiscard]] std::optional<double> cgroup_cpus(const std::filesystem::path& root);
/// The bytes of memory that the cgroup may use; nothing: unlimited.
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory(const std::filesystem::path& root);

/// The number of CPUs in a list such as "0-3,8".
[[nodiscard]] std::optional<int> count_cpu_list(std::string_view list);

/// The CPUs that this process may run on, by its affinity and cgroup; empty: unknown.
[[nodiscard]] CpuSet allowed_cpus(const std::filesystem::path& root);

}  // namespace assay::probe
