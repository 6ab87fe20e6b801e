#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::telemetry {

/// A process and its CPU time so far, from /proc/PID/stat.
struct ProcessTimes {
  pid_t pid = 0;
  pid_t parent = 0;
  std::string name;  ///< the kernel's: at most 15 bytes of any kind
  bool kernel = false;
  std::uint64_t started = 0;  ///< in clock ticks since boot; with the pid, its identity
  double own_s = 0;           ///< all of its threads
  double children_s = 0;      ///< of children it has waited for, and theirs
  int processor = 0;          ///< the one it last ran on
};

/// All visible processes under `root`/proc, by pid. Those that end meanwhile are left out.
[[nodiscard]] std::vector<ProcessTimes> read_processes(const std::filesystem::path& root = "/");

/// A user's name in `root`/etc/passwd, or "uid 1000": a static program has no name service.
[[nodiscard]] std::string user_name(uid_t uid, const std::filesystem::path& root = "/");

}  // namespace assay::telemetry
