#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/node_files.h"
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
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_EQ(prune_programs(own, 30 * kDay), 1);
}

TEST_F(PrunePrograms, LeavesFoldersOfOtherKindsAlone) {
  const fs::path installed = make("bin", 0);
  const fs::path old = make("bin-old", 90);
  EXPECT_EQ(prune_programs(installed, 30 * kDay), 0);
  EXPECT_TRUE(fs::exists(old));
}

}  // namespace
}  // namespace assay::agent
