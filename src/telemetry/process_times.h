#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::telemetry {

/// One process and the CPU time that it has used, from /proc/PID/stat.
struct ProcessTimes {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  ///< as the kernel has it: at most 15 bytes of any kind
  bool kernel = false;
  std::uint64_t started = 0;  ///< clock ticks since boot; with the pid, its identity
  double own_s = 0;           ///< all of its threads
  double children_s = 0;      ///< of the children that it has waited for, and theirs
  int processor = 0;          ///< that it ran on last
};

/// All processes that can be seen under `root`/proc, by pid. Those that end meanwhile are left out.
[[nodiscard]] std::vector<ProcessTimes> read_processes(const std::filesystem::path& root = "/");

/// The name of a user by `root`/etc/passwd, or "uid 1000": a static program has no name service.
[[nodiscard]] std::string user_name(uid_t uid, const std::filesystem::path& root = "/");

}  // namespace assay::telemetry
