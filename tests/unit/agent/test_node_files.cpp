#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/node_files.h"
#include "send_signal.h"
#include "temporary_folder.h"

namespace assay::agent {
namespace {

namespace fs = std::filesystem;
constexpr auto kDay = std::chrono::hours(24);

class PrunePrograms : public ::testing::Test {
 protected:
  [[nodiscard]] fs::path make(const std::string& name, int days_old) const {
    fs::create_directories(temporary_.path() / name);
    std::ofstream(temporary_.path() / name / "assay-agent") << "x";
    fs::last_write_time(temporary_.path() / name,
                        fs::file_time_type::clock::now() - days_old * kDay);
    return temporary_.path() / name;
  }
  testing::TemporaryFolder temporary_;
};

TEST_F(PrunePrograms, RemovesWhatWasNotUsedForLongAndTouchesItself) {
  const fs::path own = make("bin-own", 90);
  const fs::path old = make("bin-old", 31);
  const fs::path recent = make("bin-recent", 29);
  const fs::path other = make("runs", 90);
  EXPECT_EQ(prune_programs(own, 30 * kDay), 1);
  EXPECT_TRUE(fs::exists(own));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(recent));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_LT(fs::file_time_type::clock::now() - fs::last_write_time(own), kDay);
}

TEST_F(PrunePrograms, KeepsWhatAProcessRunsFrom) {
  const fs::path own = make("bin-own", 0);
  const fs::path used = make("bin-used", 0);
  fs::copy_file("/bin/sleep", used / "sleep");
  fs::last_write_time(used, fs::file_time_type::clock::now() - 90 * kDay);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execl((used / "sleep").c_str(), "sleep", "30", nullptr);
    ::_exit(127);
  }
  const fs::path link = "/proc/" + std::to_string(pid) + "/exe";
  std::error_code ec;
  for (int i = 0; i < 1000 && fs::read_symlink(link, ec) != used / "sleep"; ++i) ::usleep(10'000);
  EXPECT_EQ(prune_programs(own, 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(used / "sleep"));
  send_signal(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(prune_programs(own, 30 * kDay), 1);
}

TEST_F(PrunePrograms, LeavesFoldersOfOtherKindsAlone) {
  const fs::path installed = make("bin", 0);
  const fs::path old = make("bin-old", 90);
  EXPECT_EQ(prune_programs(installed, 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(old));
}

/// A cache as a host has it: programs in bin-own, and what agents that were lost left in runs.
class PruneRuns : public PrunePrograms {
 protected:
  /// A file of a run; it and every folder above it up to the run's are `days_old`.
  [[nodiscard]] fs::path left_by(const std::string& run, int days_old) const {
    const fs::path folder = temporary_.path() / "runs" / run / "probe/round1/n1_noderank0";
    fs::create_directories(folder);
    const fs::path log = folder / "rank0.out.log";
    std::ofstream(log) << "started\n";
    for (fs::path at = log; at.filename() != "runs"; at = at.parent_path()) age(at, days_old);
    return temporary_.path() / "runs" / run;
  }
  static void age(const fs::path& path, int days) {
    fs::last_write_time(path, fs::file_time_type::clock::now() - days * kDay);
  }
  const fs::path programs_ = make("bin-own", 0);
};

TEST_F(PruneRuns, RemovesWhatNobodyFetchedForLong) {
  const fs::path old = left_by("run1", 31);
  const fs::path recent = left_by("run2", 29);
  EXPECT_EQ(prune_runs(programs_, 30 * kDay), 1);
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(recent / "probe/round1/n1_noderank0/rank0.out.log"));
}

TEST_F(PruneRuns, KeepsARunThatStillWritesDeepInAnOldFolder) {
  const fs::path run = left_by("run1", 90);
  age(run / "probe/round1/n1_noderank0/rank0.out.log", 1);
  EXPECT_EQ(prune_runs(programs_, 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(run));
}

TEST_F(PruneRuns, DoesNotFollowALinkOutOfTheCache) {
  const testing::TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path() / "precious") << "x";
  age(elsewhere.path() / "precious", 90);
  age(elsewhere.path(), 90);
  fs::create_directories(temporary_.path() / "runs");
  fs::create_directory_symlink(elsewhere.path(), temporary_.path() / "runs/link");
  EXPECT_EQ(prune_runs(programs_, 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(elsewhere.path() / "precious"));
}

TEST_F(PruneRuns, LeavesRunsBesideAnInstalledProgramAlone) {
  const fs::path old = left_by("run1", 90);
  EXPECT_EQ(prune_runs(make("bin", 0), 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(old));
}

}  // namespace
}  // namespace assay::agent
