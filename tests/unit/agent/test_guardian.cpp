#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/guardian.h"
#include "core/files.h"
#include "core/process_tree.h"
#include "core/text.h"
#include "eventually.h"
#include "send_signal.h"

namespace assay::agent {
namespace {

using namespace std::chrono_literals;

// A process that runs guarded work; gives its pid.
pid_t guarded(const std::function<int()>& work) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(run_guarded(work));
  return pid;
}

int status_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return status;
}

void tell_pid(const Pipe& pipe, pid_t pid = ::getpid()) {
  (void)!::write(pipe.write.get(), &pid, sizeof pid);
}

// A daemon without environment or session. Its pid and that of the work come through the pipe, once
// there is no other process.
int leave_a_daemon(const Pipe& pipe, bool wait) {
  const pid_t between = ::fork();
  if (between == 0) {
    ::setsid();
    if (const pid_t daemon = ::fork(); daemon != 0) {
      tell_pid(pipe, daemon);
      ::_exit(0);
    }
    char* const argv[] = {const_cast<char*>("sleep"), const_cast<char*>("60"), nullptr};
    char* const env[] = {nullptr};
    ::execve("/bin/sleep", argv, env);
    ::_exit(1);
  }
  (void)status_of(between);
  tell_pid(pipe);
  if (wait) ::pause();
  return 0;
}

pid_t next_pid(const Pipe& pipe) {
  pid_t pid = 0;
  EXPECT_EQ(::read(pipe.read.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  return pid;
}

bool gone(pid_t pid) {
  const char state = process_state(pid);
  return state == '\0' || state == 'Z' || state == 'X';
}

TEST(Guardian, GivesTheExitCodeOfTheWork) {
  const int status = status_of(guarded([] { return 7; }));
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Guardian, EndsAsTheWorkDid) {
  const int status = status_of(guarded([] { return ::kill(::getpid(), SIGKILL); }));
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Guardian, KillsADaemonThatTheWorkLeft) {
  const Pipe pipe = make_pipe();
  const pid_t pid = guarded([&] { return leave_a_daemon(pipe, false); });
  const pid_t daemon = next_pid(pipe);
  EXPECT_EQ(status_of(pid), 0);
  EXPECT_TRUE(testing::eventually([&] { return gone(daemon); }));
}

TEST(Guardian, ToldToEndItAllItKillsWorkThatIsStopped) {
  const Pipe pipe = make_pipe();
  const pid_t pid = guarded([&] { return leave_a_daemon(pipe, true); });
  const pid_t daemon = next_pid(pipe);
  const pid_t work = next_pid(pipe);
  send_signal(work, SIGSTOP);
  ASSERT_TRUE(testing::eventually([&] { return process_state(work) == 'T'; }));
  send_signal(pid, guardian_gone_signal());
  const int status = status_of(pid);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(gone(work));
  EXPECT_TRUE(testing::eventually([&] { return gone(daemon); }));
}

TEST(Guardian, KillsADaemonWhenTheWorkIsKilled) {
  const Pipe pipe = make_pipe();
  const pid_t pid = guarded([&] { return leave_a_daemon(pipe, true); });
  const pid_t daemon = next_pid(pipe);
  const pid_t work = next_pid(pipe);
  send_signal(work, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status_of(pid)));
  EXPECT_TRUE(testing::eventually([&] { return gone(daemon); }));
}

TEST(Guardian, PassesSignalsOn) {
  const Pipe pipe = make_pipe();
  const pid_t pid = guarded([&] {
    tell_pid(pipe);
    ::pause();
    return 0;
  });
  (void)next_pid(pipe);  // the work has begun
  send_signal(pid, SIGTERM);
  const int status = status_of(pid);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

/// Guarded work that has told its names and left a daemon; all of it is stopped but the daemon.
struct StoppedAgent {
  StoppedAgent() {
    guardian = guarded([this] {
      std::string lines;
      for (const std::string& name : agent_processes()) lines += name + "\n";
      lines.resize(kNames);
      (void)!::write(told.write.get(), lines.data(), lines.size());
      return leave_a_daemon(pipe, true);
    });
    std::string text(kNames, '\0');
    EXPECT_EQ(::read(told.read.get(), text.data(), text.size()), static_cast<ssize_t>(kNames));
    for (const std::string_view line : split(text, '\n'))
      if (line.front() != '\0') names.emplace_back(line);
    daemon = next_pid(pipe);
    work = next_pid(pipe);
    for (const pid_t pid : {guardian, work}) send_signal(pid, SIGSTOP);
    EXPECT_TRUE(testing::eventually(
        [&] { return process_state(guardian) == 'T' && process_state(work) == 'T'; }));
  }

  static constexpr std::size_t kNames = 1000;
  const Pipe pipe = make_pipe();
  const Pipe told = make_pipe();
  std::vector<std::string> names;
  pid_t guardian = 0;
  pid_t work = 0;
  pid_t daemon = 0;
};

TEST(SweptAgents, EndWithTheirGuardianAndAllBelowThoughTheyAreStopped) {
  const StoppedAgent agent;
  EXPECT_EQ(agent.names.size(), 2u);
  EXPECT_EQ(sweep_agents(agent.names), 3);
  EXPECT_TRUE(WIFSIGNALED(status_of(agent.guardian)));
  EXPECT_TRUE(gone(agent.work));
  EXPECT_TRUE(gone(agent.daemon));
}

TEST(SweptAgents, EndAlsoWhenTheirGuardianIsGone) {
  const StoppedAgent agent;
  send_signal(agent.guardian, SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status_of(agent.guardian)));
  EXPECT_FALSE(gone(agent.work));
  EXPECT_GE(sweep_agents(agent.names), 1);
  EXPECT_TRUE(testing::eventually([&] { return gone(agent.work); }));
  send_signal(agent.daemon, SIGKILL);
}

TEST(SweptAgents, AProcessThatHasThePidOfOneIsLeftAlone) {
  const StoppedAgent agent;
  std::vector<std::string> others;
  for (const std::string& name : agent.names) others.push_back(name + "0");  // another start
  for (const std::string& name : agent.names) others.push_back("0" + name);  // another boot
  EXPECT_EQ(sweep_agents(others), 0);
  EXPECT_EQ(process_state(agent.work), 'T');
  EXPECT_EQ(sweep_agents(agent.names), 3);
  EXPECT_TRUE(WIFSIGNALED(status_of(agent.guardian)));
}

}  // namespace
}  // namespace assay::agent
