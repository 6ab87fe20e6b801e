#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_fields.h"
#include "core/time.h"

namespace assay::probe {

enum class Level { pass, warn, fail };

constexpr auto enum_names(Level /*level*/) {
  using enum Level;
  return std::to_array<EnumName<Level>>({{pass, "PASS"}, {warn, "WARN"}, {fail, "FAIL"}});
}

/// One check of the machine and its result.
struct Check {
  std::string id;  ///< "memory", "disk", "governor", …; stable, for scripts
  Level level = Level::pass;
  std::string seen;    ///< the observation, with numbers
  std::string advice;  ///< empty if nothing has to be done

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("level", self.level);
    field("seen", self.seen);
    field.optional("advice", self.advice);
  }
};

/// Soft and hard limits of a process; nothing: unlimited.
struct ProcessLimit {
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;
};

struct ProcessLimits {
  ProcessLimit files;    ///< RLIMIT_NOFILE
  ProcessLimit threads;  ///< RLIMIT_NPROC
  ProcessLimit memlock;  ///< RLIMIT_MEMLOCK, bytes
};

/// The limits of this process.
[[nodiscard]] ProcessLimits process_limits();

/// The program that a case starts on this machine.
struct CommandUse {
  std::string case_name;
  std::string program;  ///< argv[0]
  std::string workdir;  ///< empty: the agent's folder
  std::string path;     ///< PATH of its environment; empty: this process's

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("case", self.case_name);
    field("program", self.program);
    field.optional("workdir", self.workdir);
    field.optional("path", self.path);
  }
};

struct CheckOptions {
  std::filesystem::path root = "/";     ///< where proc, sys, etc and dev are read
  std::filesystem::path out_dir = ".";  ///< need not exist; its nearest existing parent counts
  std::uint64_t required_disk_bytes = 1ULL << 30;
  std::uint64_t required_memory_bytes = 512ULL << 20;
  int procs = 1;               ///< ranks on this machine
  std::string vendor = "cpu";  ///< "cpu": no devices are checked
  /// argv of the vendor's command that lists devices ("nvidia-smi", "-L"); run with `timeout`.
  std::vector<std::string> device_query;
  /// RE2 pattern; each line of the query's output that contains it is one device. Empty:
  /// each line that is not blank.
  std::string device_pattern;
  std::string container_runtime;       ///< "podman", "docker", …; "any"; empty: not wanted
  std::vector<CommandUse> commands{};  ///< empty: not looked at
  Nanoseconds timeout = std::chrono::seconds(10);  ///< of each external command
  // Values that have no file below `root`; nothing: the kernel is asked.
  std::optional<ProcessLimits> limits;
  std::optional<bool> clock_synchronized;
};

/// Whether this machine is fit to measure on. Every check that applies is in the result, even
/// those that pass, in a fixed order. Does not throw for an unfit machine.
[[nodiscard]] std::vector<Check> check_machine(const CheckOptions& options);

/// The worst level of all; pass when there are none.
[[nodiscard]] Level worst(const std::vector<Check>& checks) noexcept;

}  // namespace assay::probe
