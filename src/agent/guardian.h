#pragma once

#include <csignal>
#include <functional>
#include <string>
#include <vector>

namespace assay::agent {

/// Does `work` in a child of this process, which guards it: when the child is gone, however it
/// ended, everything that it left is killed, also daemons that have a session of their own and an
/// empty environment. This process is a subreaper: whoever loses its parent below it becomes its
/// child. When this process is killed, the child gets guardian_gone_signal(), and is expected to
/// kill what is below it and to end. Gives the child's exit code, or ends by the signal that killed
/// it. Asked to end by a signal, it passes the signal on; guardian_gone_signal() has it kill
/// everything at once, also a child that is stopped or hangs, and so does a child that is stopped
/// for a minute. To be called while there is one thread.
[[nodiscard]] int run_guarded(const std::function<int()>& work);

/// A signal that nothing else uses.
[[nodiscard]] inline int guardian_gone_signal() {
  return SIGRTMIN;
}

/// SIGKILL for everything below this process until nothing is left, for a second or two at most.
void kill_descendants();

/// The names (core/process_name.h) of this process and of its guardian, where there is one, to be
/// called by guarded work.
[[nodiscard]] std::vector<std::string> agent_processes();

/// SIGKILL for the processes of those names and for everything below them, also where they are
/// stopped and neither end by themselves nor guard anything; for a second or two at most. Names of
/// processes that are gone, or of other machines, are none. Gives the number of processes that were
/// killed.
int sweep_agents(const std::vector<std::string>& names);

}  // namespace assay::agent
