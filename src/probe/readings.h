#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cpu_set.h"

namespace assay::probe {

// Small readings of procfs and sysfs below a root, shared by the description and the checks. What
// cannot be read is nothing, never zero.

/// First line of a file, trimmed; empty when it cannot be read.
[[nodiscard]] std::string line_of(const std::filesystem::path& path);
[[nodiscard]] std::optional<std::int64_t> number_of(const std::filesystem::path& path);
/// Names in a folder, sorted; empty when it cannot be read.
[[nodiscard]] std::vector<std::string> names_in(const std::filesystem::path& folder);
/// The last part of a link's target; empty when it is not a link.
[[nodiscard]] std::string link_name(const std::filesystem::path& path);

/// Bytes of a field of /proc/meminfo ("MemAvailable").
[[nodiscard]] std::optional<std::uint64_t> meminfo(const std::filesystem::path& root,
                                                   std::string_view field);

struct Cpus {
  std::string model;
  int threads = 0;  ///< logical CPUs that are online
  int cores = 0;
  int sockets = 0;
  std::vector<std::string> governors;  ///< distinct, sorted
  std::optional<bool> boost;
};
[[nodiscard]] Cpus read_cpus(const std::filesystem::path& root);

/// CPUs that the cgroup of this process may use at once, from its quota; nothing: not limited.
[[nodiscard]] std::optional<double> cgroup_cpus(const std::filesystem::path& root);
/// Bytes of memory that the cgroup may use; nothing: not limited.
[[nodiscard]] std::optional<std::uint64_t> cgroup_memory(const std::filesystem::path& root);

/// Number of CPUs in a list such as "0-3,8".
[[nodiscard]] std::optional<int> count_cpu_list(std::string_view list);

/// The CPUs that this process may run on, by its affinity and its control group; empty: not known.
[[nodiscard]] CpuSet allowed_cpus(const std::filesystem::path& root);

}  // namespace assay::probe
