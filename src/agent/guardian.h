#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace assay::agent {

/// Runs `work` in a child of this process, which guards it: once the child is gone, however it
/// ended, everything it left is killed, even daemons with a session of their own and an empty
/// environment. For this purpose the process is a subreaper, which adopts its orphaned descendants.
/// If it is killed itself, the child gets guardian_gone_signal() and is expected to kill its
/// descendants and end. Returns the child's exit code, or ends by the signal that killed the child.
/// Passes on signals that ask it to end; guardian_gone_signal(), or a child that stays stopped for
/// a minute, makes it kill everything at once, even a stopped or hanging child. Call it while there
/// is only one thread.
[[nodiscard]] int run_guarded(const std::function<int()>& work);

/// A signal with no other use.
[[nodiscard]] inline int guardian_gone_signal() {
  return SIGRTMIN;
}

/// Repeats SIGKILL for everything below this process, for at most a second or two.
void kill_descendants();

/// The names (core/process_name.h) of this process and, if it has one, its guardian. Called by
/// guarded work.
[[nodiscard]] std::vector<std::string> agent_processes();

/// Kills the named processes and their descendants with SIGKILL, even stopped ones, which can
/// neither end by themselves nor guard anything; takes at most a second or two. Ignores names of
/// processes that are gone or on other machines. Returns the number of processes killed.
int sweep_agents(const std::vector<std::string>& names);

}  // namespace assay::agent
