#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/process.h"

namespace assay {

struct CommandResult {
  ExitStatus status;
  std::string out;  ///< the beginning of stdout, up to the limit
  std::string err;  ///< the end of stderr, up to the limit
  bool timed_out = false;
  bool not_found = false;  ///< the program does not exist or cannot be executed

  [[nodiscard]] bool ok() const noexcept { return !timed_out && status.ok(); }
};

struct CommandOptions {
  Nanoseconds timeout = std::chrono::seconds(10);
  std::size_t max_output = 1 << 20;        ///< of each stream
  std::map<std::string, std::string> env;  ///< added to the inherited ones
};

/// Runs a short helper command to its end, without a shell, stdin from /dev/null. The command ends
/// with its program: processes that the program leaves behind in its group are killed, even if they
/// hold the pipes open. `timeout` bounds all of it, even when output keeps coming.
/// core/async_process.h does the same on an event loop.
[[nodiscard]] CommandResult run_command(const std::vector<std::string>& argv,
                                        const CommandOptions& options = {});

/// Appends to `text`, which keeps its last `limit` bytes.
void append_tail(std::string& text, std::string_view bytes, std::size_t limit);

}  // namespace assay
