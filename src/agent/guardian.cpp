#include "agent/guardian.h"

#include <cerrno>
#include <csignal>
#include <set>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process_name.h"
#include "core/process_tree.h"

namespace assay::agent {

namespace {

constexpr int kSweeps = 100;
constexpr int kBetweenSweeps_ms = 20;
// How long the child may stay stopped (SIGSTOP); its controller gives it up long before.
constexpr int kStoppedLimit_s = 60;
constexpr int kStoppedLook_s = 5;

pid_t guardian_of_this = 0;  // set in the child, once

// Collects every child that has ended; returns the status of `wanted` if it is among them.
bool collect(pid_t wanted, int& status) {
  bool found = false;
  int any = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &any, WNOHANG)) > 0;) {
    if (pid != wanted) continue;
    found = true;
    status = any;
  }
  return found;
}

// Whether `child` is stopped now; `before` says whether it was.
bool is_stopped(pid_t child, bool before) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
         info.si_pid == child) {
    before = info.si_code == CLD_STOPPED;
    info = {};
  }
  return before;
}

// Whether or not it has been collected.
bool is_dead(pid_t pid) {
  const char state = process_state(pid);
  return state == '\0' || state == 'Z' || state == 'X';
}

// The child's connections must end with it.
void let_go_of_streams() {
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::close(null);
}

}  // namespace

void kill_descendants() {
  for (int i = 0; i < kSweeps; ++i) {
    int ignored = 0;
    (void)collect(0, ignored);
    // Orphans become children of this process, so nothing is left once it has no child. Reading
    // /proc could miss a process whose parent changes just then.
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) return;
    for (const pid_t pid : descendants(::getpid())) ::kill(pid, SIGKILL);
    ::poll(nullptr, 0, kBetweenSweeps_ms);
  }
}

std::vector<std::string> agent_processes() {
  std::vector<std::string> names{process_name(::getpid())};
  if (guardian_of_this != 0) names.push_back(process_name(guardian_of_this));
  std::erase(names, "");
  return names;
}

int sweep_agents(const std::vector<std::string>& names) {
  std::set<pid_t> killed;
  const auto end = [&](pid_t pid) {
    if (pid != ::getpid() && ::kill(pid, SIGKILL) == 0) killed.insert(pid);
  };
  for (int i = 0; i < kSweeps; ++i) {
    bool left = false;
    for (const std::string& name : names) {
      const auto pid = find_process(name);
      if (!pid || *pid == ::getpid() || is_dead(*pid)) continue;
      left = true;
      // While the child lives, orphans below it stay below it.
      const std::vector<pid_t> below = descendants(*pid);
      for (const pid_t one : below) end(one);
      if (below.empty()) end(*pid);
    }
    if (!left) break;
    ::poll(nullptr, 0, kBetweenSweeps_ms);
  }
  return static_cast<int>(killed.size());
}

int run_guarded(const std::function<int()>& work) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  sigset_t watched{};
  sigemptyset(&watched);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, guardian_gone_signal()})
    sigaddset(&watched, signal);
  sigset_t before{};
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t guardian = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {  // process limit reached: better unguarded than not at all
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    return work();
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, guardian_gone_signal());
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    if (::getppid() != guardian) ::_exit(128 + SIGKILL);
    guardian_of_this = guardian;
    return work();
  }
  ::prctl(PR_SET_NAME, "assay-guardian");
  let_go_of_streams();
  int status = SIGKILL;  // unless the child ends by itself
  bool stopped = false;
  // Counts looks, so that time during which this process is stopped too does not count.
  for (int stopped_s = 0; stopped_s < kStoppedLimit_s;) {
    const timespec look{.tv_sec = kStoppedLook_s, .tv_nsec = 0};
    const int signal =
        stopped ? ::sigtimedwait(&watched, nullptr, &look) : ::sigwaitinfo(&watched, nullptr);
    if (signal < 0 && errno == EAGAIN) stopped_s += kStoppedLook_s;
    if (signal < 0 && errno != EINTR && errno != EAGAIN) break;
    if (signal == guardian_gone_signal()) break;
    if (signal == SIGCHLD) {
      if (collect(child, status)) break;
      stopped = is_stopped(child, stopped);
      if (!stopped) stopped_s = 0;
    } else if (signal > 0) {
      ::kill(child, signal);
    }
  }
  kill_descendants();
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  // Lets those who wait for the agent see how it ended.
  ::signal(WTERMSIG(status), SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::kill(::getpid(), WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

}  // namespace assay::agent
