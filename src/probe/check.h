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

/// A check of the machine and its result.
struct Check {
  std::string id;  ///< "memory", "disk", "governor", …; stable, for scripts
  Level level = Level::pass;
  std::string seen;    ///< the finding, with numbers
  std::string advice;  ///< what to do; empty if nothing is needed

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("id", self.id);
    field("level", self.level);
    field("seen", self.seen);
    field.optional("advice", self.advice);
  }
};

/// A process's soft and hard limits; nothing means unlimited.
struct ProcessLimit {
  std::optional<std::uint64_t> soft;
  std::optional<std::uint64_t> hard;
};

struct ProcessLimits {
  ProcessLimit files;    ///< RLIMIT_NOFILE
  ProcessLimit threads;  ///< RLIMIT_NPROC
  ProcessLimit memlock;  ///< RLIMIT_MEMLOCK, bytes
};

/// This process's limits.
[[nodiscard]] ProcessLimits process_limits();

/// A command that a case starts on this machine.
struct CommandUse {
  std::string case_name;
  std::string program;  ///< argv[0]
  std::string workdir;  ///< empty: the agent's folder
  std::string path;     ///< PATH in its environment; empty: this process's

  template <class Self, class F>
  static void fields(Self& self, F&& field) {
    field("case", self.case_name);
    field("program", self.program);
    field.optional("workdir", self.workdir);
    field.optional("path", self.path);
  }
};

struct CheckOptions {
  std::filesystem::path root = "/";     ///< for reading proc, sys, etc and dev
  std::filesystem::path out_dir = ".";  ///< may not exist yet; its nearest existing parent counts
  std::uint64_t required_disk_bytes = 1ULL << 30;
  std::uint64_t required_memory_bytes = 512ULL << 20;
  int procs = 1;               ///< ranks on this machine
  std::string vendor = "cpu";  ///< "cpu": no device checks
  /// argv of the vendor's command that lists devices ("nvidia-smi", "-L"); runs with `timeout`.
  std::vector<std::string> device_query;
  /// RE2 pattern; each output line of the query that contains it is one device. Empty: each
  /// non-blank line.
  std::string device_pattern;
  std::string container_runtime;       ///< "podman", "docker", …; "any"; empty: not needed
  std::vector<CommandUse> commands{};  ///< empty: not checked
  Nanoseconds timeout = std::chrono::seconds(10);  ///< per external command
  // Values without a file below `root`; nothing: taken from the kernel.
  std::optional<ProcessLimits> limits;
  std::optional<bool> clock_synchronized;
};

/// Checks whether this machine is fit for measuring. The result contains every applicable check,
/// even those that pass, in a fixed order. Does not throw for an unfit machine.
[[nodiscard]] std::vector<Check> check_machine(const CheckOptions& options);

/// The worst level of all; pass without checks.
[[nodiscard]] Level worst(const std::vector<Check>& checks) noexcept;

}  // namespace assay::probe
