#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace assay {

/// All living descendants of `root` (children first met first), read from /proc; zombies are left
/// out.
[[nodiscard]] std::vector<pid_t> descendants(pid_t root);

/// All living processes whose environment holds ASSAY_ROUND_ID=`round_id`, but not the caller,
/// including those that were re-parented or started a session of their own.
[[nodiscard]] std::vector<pid_t> processes_of_round(std::string_view round_id);

/// The same for any variable of their environment.
[[nodiscard]] std::vector<pid_t> processes_with(std::string_view variable, std::string_view value);

/// State letter of /proc/PID/stat ('R', 'S', 'D', 'T', 'Z' …), or 0 when it is gone.
[[nodiscard]] char process_state(pid_t pid);

/// CPU-seconds of each process, of all that is below it and of what they have waited for; 0 for one
/// that is gone. One look at /proc for all of them.
[[nodiscard]] std::vector<double> tree_cpu_s(const std::vector<pid_t>& roots);

/// Of each process and all below it the one that tells best why nothing happens: one that was
/// stopped, else one that the kernel holds, else the last of a row of only children (what a shell
/// waits for), which is the process itself where it has several or none. One look at /proc.
[[nodiscard]] std::vector<pid_t> telling_processes(const std::vector<pid_t>& roots);

/// The kernel's function that a process sleeps in ("futex_wait_queue"); empty: it does not sleep,
/// or the kernel does not tell.
[[nodiscard]] std::string wait_channel(pid_t pid);

/// Whether the process, or one that it descends from, has that name (/proc/PID/comm).
[[nodiscard]] bool is_below(pid_t pid, std::string_view program);

/// Kills the processes of a round whose agent is gone: SIGKILL until none is left, at most
/// `attempts` sweeps. Gives the number of processes that were killed.
int sweep_round(std::string_view round_id, int attempts = 20);
/// The same for processes_with().
int sweep_processes(std::string_view variable, std::string_view value, int attempts = 20);

}  // namespace assay
