#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace assay::agent {

/// What /proc says of a process.
struct ProcessLook {
  std::string name{};               ///< comm
  std::vector<std::string> argv{};  ///< empty: a kernel thread, or gone
  char state = 'S';
};

[[nodiscard]] ProcessLook look_at(pid_t pid);

/// Whether nothing of these processes will ever do anything again by itself: at least one is
/// `sleep infinity`, and all others wait for it: shells, sudo, and what runs a container. Pure.
[[nodiscard]] bool only_sleep(const std::vector<ProcessLook>& processes);

/// Notices that what a round runs on this node has come to its `sleep infinity`: with it people end
/// a command so that they can still look around in the job. Only one that never ends is meant:
/// after `sleep 60` something may follow.
class RestWatch {
 public:
  /// A shell may be between two programs: it must have been so for a while, without using a
  /// processor. A round that never did anything else was submitted to be entered, and is not over.
  /// `worked`: it has printed something, or has used a second of a processor.
  /// Gives the moment since when it rests (monotonic), once it is certain.
  [[nodiscard]] std::optional<std::int64_t> look(std::int64_t mono_ns,
                                                 const std::vector<pid_t>& processes, bool worked);

 private:
  std::vector<pid_t> resting_;
  std::int64_t since_ns_ = 0;
  double cpu_s_ = 0;
};

}  // namespace assay::agent
