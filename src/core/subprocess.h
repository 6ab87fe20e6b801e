#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/process.h"

namespace assay {

struct CommandResult {
  ExitStatus status;
  std::string out;  ///< the beginning of stdout, as much as was allowed
  std::string err;  ///< the end of stderr, as much as was allowed
  bool timed_out = false;
  bool not_found = false;  ///< the program does not exist or cannot be executed

  [[nodiscard]] bool ok() const noexcept { return !timed_out && status.ok(); }
};

struct CommandOptions {
  Nanoseconds timeout = std::chrono::seconds(10);
  std::size_t max_output = 1 << 20;        ///< of each stream
  std::map<std::string, std::string> env;  ///< added to this process's environment
};

/// Runs a short helper command to its end, without a shell, stdin from /dev/null. The command ends
/// with its program: what the program leaves behind in its process group is killed, though it may
/// hold the pipes open. All of it is bounded by `timeout`, even when output keeps coming.
/// core/async_process.h does the same on an event loop.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& argv,
                                        const CommandOptions& options = {});

/// Appends to `text` and keeps its last `limit` bytes.
void append_tail(std::string& text, std::string_view bytes, std::size_t limit);

}  // namespace assay
