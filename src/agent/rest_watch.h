#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::agent {

/// A process as described by /proc.
struct ProcessLook {
  std::string name{};               ///< comm
  std::vector<std::string> argv{};  ///< empty: a kernel thread or gone
  char state = 'S';
};

[[nodiscard]] ProcessLook look_at(pid_t pid);

/// Whether these processes will never do anything again by themselves: at least one is `sleep
/// infinity`, and all others wait for it (shells, sudo, container runtimes). Pure.
[[nodiscard]] bool only_sleep(const std::vector<ProcessLook>& processes);

/// Notices when all that a round runs on this node has reached a `sleep infinity`, which people put
/// at the end of a command so that they can still look around in the job. Only endless sleeps
/// count: something may follow `sleep 60`.
class RestWatch {
 public:
  /// Once certain, returns the (monotonic) moment since which the round has rested. It must have
  /// rested for a while without using a processor, as a shell may be between two programs. A round
  /// that never did anything else was submitted to be entered and is not over; `worked` tells that
  /// it printed something or used a second of a processor.
  [[nodiscard]] std::optional<std::int64_t> look(std::int64_t mono_ns,
                                                 const std::vector<pid_t>& processes, bool worked);

 private:
  std::vector<pid_t> resting_;
  std::int64_t since_ns_ = 0;
  double cpu_s_ = 0;
};

}  // namespace assay::agent
