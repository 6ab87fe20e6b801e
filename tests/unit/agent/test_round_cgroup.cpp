#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/round_cgroup.h"
#include "core/process.h"
#include "core/process_tree.h"
#include "eventually.h"
#include "needs.h"

namespace assay::agent {
namespace {

using assay::testing::eventually;

class RoundCgroups : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!place_.problem.empty()) GTEST_SKIP() << needs::system("control groups: " + place_.problem);
  }
  static Child sleeper(const RoundCgroup& group) {
    return spawn({.argv = {"sleep", "300"}, .dies_with_parent = false, .cgroup = group.procs()});
  }
  // Like an agent that is killed: a process that makes a group, leaves a daemon in it, and is gone.
  pid_t leave_daemon(const std::string& round_id) const {
    int pipe[2] = {-1, -1};
    EXPECT_EQ(::pipe(pipe), 0);
    const pid_t agent = ::fork();
    if (agent == 0) {
      const RoundCgroup group(round_id, place_);
      Child daemon = spawn({.argv = {"/usr/bin/env", "-i", "sleep", "300"},
                            .group = Group::session,
                            .dies_with_parent = false,
                            .cgroup = group.procs()});
      const pid_t pid = daemon.pid();
      [[maybe_unused]] const ssize_t n = ::write(pipe[1], &pid, sizeof pid);
      ::_exit(0);
    }
    pid_t daemon = -1;
    EXPECT_EQ(::read(pipe[0], &daemon, sizeof daemon), ssize_t{sizeof daemon});
    ::close(pipe[0]);
    ::close(pipe[1]);
    ::waitpid(agent, nullptr, 0);
    return daemon;
  }
  static bool lives(pid_t pid) {
    const char state = process_state(pid);
    return state != 0 && state != 'Z' && state != 'X';
  }
  const CgroupPlace place_ = cgroup_place();
};

TEST_F(RoundCgroups, AGroupWhoseAgentIsGoneIsSwept) {
  // Agents of tests beside this one sweep, too, and may be the first.
  int killed = 0;
  for (int attempt = 1; attempt <= 10 && killed == 0; ++attempt) {
    const pid_t daemon = leave_daemon("run-a/case/1/" + std::to_string(attempt));
    killed = sweep_cgroups(place_);
    EXPECT_TRUE(eventually([&] { return !lives(daemon); }));
  }
  EXPECT_GE(killed, 1);
}

TEST_F(RoundCgroups, AGroupWhoseAgentLivesIsLeftAlone) {
  const RoundCgroup group("run-b/case/1/1", place_);
  const Child child = sleeper(group);
  (void)sweep_cgroups(place_);
  (void)sweep_cgroups(place_, "run-b/case/1/2");
  EXPECT_TRUE(lives(child.pid()));
  EXPECT_TRUE(std::filesystem::exists(group.folder()));
}

TEST_F(RoundCgroups, ARoundThatIsNamedIsSweptWhoeverMadeIt) {
  const RoundCgroup group("run-c/case:a/1/1", place_);
  Child child = sleeper(group);
  EXPECT_GE(sweep_cgroups(place_, "run-c/case:a/1/1"), 1);
  EXPECT_TRUE(eventually([&] { return child.poll().has_value(); }));
}

TEST_F(RoundCgroups, AnEmptyGroupGoesWithItsRound) {
  std::filesystem::path folder;
  {
    const RoundCgroup group("run-d/case/1/1", place_);
    folder = group.folder();
    EXPECT_TRUE(std::filesystem::exists(folder));
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(NoCgroups, WithoutAPlaceNothingHappens) {
  CgroupPlace none;
  none.problem = "there is no cgroup version 2";
  const RoundCgroup group("run-e/case/1/1", none);
  EXPECT_EQ(group.procs(), -1);
  EXPECT_EQ(sweep_cgroups(none), 0);
}

}  // namespace
}  // namespace assay::agent
