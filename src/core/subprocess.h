#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace assay {

/// How a process ended.
struct ExitStatus {
  std::optional<int> code;    ///< exit code, when it exited
  std::optional<int> signal;  ///< signal number, when it was killed

  [[nodiscard]] bool ok() const noexcept { return code == 0; }
  /// From waitpid's status word.
  [[nodiscard]] static ExitStatus from_wait(int status) noexcept;
};

/// "exit 3", "SIGSEGV", "exit 0".
[[nodiscard]] std::string to_string(const ExitStatus& status);

/// "SIGTERM" for 15.
[[nodiscard]] std::string signal_name(int signal);

struct CommandResult {
  ExitStatus status;
  std::string out;  ///< at most CommandOptions::max_output bytes
  std::string err;
  bool timed_out = false;
  bool not_found = false;  ///< the program does not exist or cannot be executed
};

struct CommandOptions {
  Nanoseconds timeout = std::chrono::seconds(10);
  std::size_t max_output = 1 << 20;
  std::map<std::string, std::string> env;  ///< added to this process's environment
};

/// Runs a short helper command to its end, without a shell, stdin closed. Bounded by `timeout`
/// even when grandchildren keep the pipes open: the whole process group is killed.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& argv,
                                        const CommandOptions& options = {});

/// Absolute path of a program found like execvp does, or nothing.
[[nodiscard]] std::optional<std::string> find_program(const std::string& name);

}  // namespace assay
