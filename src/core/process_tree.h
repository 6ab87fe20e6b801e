#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace assay {

/// All living descendants of `root`, parents before their children, read from /proc; zombies are
/// left out.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root);

/// All living processes, except the caller, whose environment holds ASSAY_ROUND_ID=`round_id`,
/// including those that were re-parented or started a session of their own.
[[nodiscard]] std::vector<pid_t> processes_of_round(std::string_view round_id);

/// The same for any environment variable.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view variable, std::string_view value);

/// State letter of /proc/PID/stat ('R', 'S', 'D', 'T', 'Z' …), or 0 when it is gone.
[[nodiscard]] char process_state(pid_t pid);

/// CPU-seconds used by each process, its descendants and the children they have waited for; 0 for a
/// process that is gone. Reads /proc once for all of them.
[[nodiscard]] std::vector<double> tree_cpu_s(const std::vector<pid_t>& roots);

/// For each root, the process in its tree that best explains why nothing happens: a stopped one,
/// else one held in the kernel, else the end of the chain of only children (what a shell waits
/// for), which is the root itself if it has several children or none. Reads /proc once.
[[nodiscard]] std::vector<pid_t> telling_processes(const std::vector<pid_t>& roots);

/// The kernel function in which a process sleeps ("futex_wait_queue"); empty when it does not sleep
/// or the kernel does not tell.
[[nodiscard]] std::string wait_channel(pid_t pid);

/// Whether the process or one of its ancestors has that name (/proc/PID/comm).
[[nodiscard]] bool is_below(pid_t pid, std::string_view program);

/// Kills the processes of a round whose agent is gone: repeats SIGKILL until none is left, in at
/// most `attempts` sweeps. Returns the number of processes killed.
int sweep_round(std::string_view round_id, int attempts = 20);
/// The same for processes_with().
int sweep_processes(std::string_view variable, std::string_view value, int attempts = 20);

}  // namespace assay
