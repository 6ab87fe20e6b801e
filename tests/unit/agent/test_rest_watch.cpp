#include <gtest/gtest.h>

#include "agent/rest_watch.h"
#include "core/process.h"
#include "core/process_tree.h"
#include "eventually.h"

namespace assay::agent {
namespace {

const ProcessLook kShell{"sh", {"/bin/sh", "-c", "python train.py && sleep infinity"}};
const ProcessLook kSleep{"sleep", {"sleep", "infinity"}};

TEST(OnlySleep, IsAShellThatWaitsForAnEndlessSleep) {
  EXPECT_TRUE(only_sleep({kShell, kSleep}));
  EXPECT_TRUE(only_sleep({kSleep}));
  EXPECT_TRUE(
      only_sleep({{"sudo", {"sudo", "-E", "bash", "-c", "…"}}, {"bash", {"bash"}}, kSleep}));
  EXPECT_TRUE(only_sleep({{"podman", {"podman", "run"}}, {"conmon", {"conmon"}}, kShell, kSleep}));
  EXPECT_TRUE(only_sleep({kShell, {"busybox", {"/bin/busybox", "sleep", "infinity"}}}));
}

TEST(OnlySleep, IsNotWhatMayStillDoSomething) {
  EXPECT_FALSE(only_sleep({}));
  EXPECT_FALSE(only_sleep({kShell})) << "it may be between two programs";
  EXPECT_FALSE(only_sleep({kShell, kSleep, {"python", {"python", "train.py"}}}));
  EXPECT_FALSE(only_sleep({kShell, {"sleep", {"sleep", "86400"}}})) << "something may follow";
  EXPECT_FALSE(only_sleep({{"sh", {"sh", "loop.sh"}, 'R'}, kSleep}));
  EXPECT_FALSE(only_sleep({kShell, kSleep, {"ssh", {"ssh", "worker1", "sleep", "infinity"}}}));
  EXPECT_FALSE(only_sleep({kShell, {"python", {"python", "sleep", "infinity", "--more"}}}));
}

TEST(RestWatch, IsCertainAfterAWhileOfRealProcesses) {
  const Child shell = spawn({.argv = {"/bin/sh", "-c", "true; sleep infinity; true"}});
  const auto processes = [&] {
    std::vector<pid_t> all = descendants(shell.pid());
    all.push_back(shell.pid());
    return all;
  };
  ASSERT_TRUE(testing::eventually([&] {
    std::vector<ProcessLook> looks;
    for (const pid_t pid : processes()) looks.push_back(look_at(pid));
    return only_sleep(looks);
  }));
  RestWatch watch;
  constexpr std::int64_t kBegin = 1'000'000'000;
  EXPECT_EQ(watch.look(kBegin, processes(), true), std::nullopt);
  EXPECT_EQ(watch.look(kBegin + 4'000'000'000, processes(), true), std::nullopt);
  EXPECT_EQ(watch.look(kBegin + 6'000'000'000, processes(), false), std::nullopt)
      << "a job that never did anything else is there to be entered";
  EXPECT_EQ(watch.look(kBegin + 6'000'000'000, processes(), true), kBegin);
  shell.signal(SIGKILL);
}

}  // namespace
}  // namespace assay::agent
