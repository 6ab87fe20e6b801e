// What is left of a run's allocation, with programs in the place of Slurm's.

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/files.h"
#include "launch/agents/slurm/slurm_launcher.h"
#include "temporary_folder.h"

namespace assay::launch {
namespace {

namespace fs = std::filesystem;

class SlurmGiveBack : public ::testing::Test {
 protected:
  void SetUp() override {
    program("scancel", "echo \"$@\" >> " + cancelled_.string());
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
    ::unsetenv("SLURM_JOB_ID");
  }
  void TearDown() override { ::setenv("PATH", path_.c_str(), 1); }

  void program(const std::string& name, const std::string& script) const {
    const fs::path file = folder_.path() / name;
    write_file_atomic(file, "#!/bin/sh\n" + script + "\n", /*sync=*/false);
    fs::permissions(file, fs::perms::owner_all);
  }
  /// squeue shows the first component of job 17 so.
  void shows(const std::string& state, const std::string& name = "assay") const {
    program("squeue", "printf '17+0\\037" + state +
                          "\\037None\\037u\\037p\\0371\\037n4\\0370\\0370\\0370\\037/\\037" + name +
                          "\\n'");
  }
  [[nodiscard]] std::string cancelled_after(std::vector<plan::SlurmComponent> components) {
    plan::SlurmOptions options;
    options.components = std::move(components);
    plan::Cluster cluster;
    cluster.use_launcher(options);
    said_ = SlurmLauncher(cluster, options, "/opt").give_back();
    return read_file_or_empty(cancelled_);
  }

  testing::TemporaryFolder folder_;
  std::string said_;  ///< by the launcher
  const fs::path cancelled_ = folder_.path() / "cancelled";
  const std::string path_ = std::getenv("PATH");
  const std::vector<plan::SlurmComponent> two_{plan::SlurmComponent{}, plan::SlurmComponent{}};
};

TEST_F(SlurmGiveBack, CancelsTheComponentsThatOutliveAnother) {
  shows("RUNNING");
  EXPECT_EQ(cancelled_after(two_), "17\n") << "as a whole, once";
}

TEST_F(SlurmGiveBack, LeavesWhatHasEndedAndWhatIsOfOthers) {
  shows("CANCELLED");
  EXPECT_EQ(cancelled_after(two_), "");
  shows("RUNNING", "another");
  EXPECT_EQ(cancelled_after(two_), "");
}

TEST_F(SlurmGiveBack, LeavesAnOrdinaryJobThatIsBeingEnded) {
  for (const char* state : {"COMPLETING", "COMPLETED"}) {
    shows(state);
    EXPECT_EQ(cancelled_after({}), "") << state;
    EXPECT_EQ(said_, "");
  }
}

TEST_F(SlurmGiveBack, CancelsAnOrdinaryJobWhoseSallocWasKilled) {
  for (const char* state : {"RUNNING", "PENDING"}) {
    shows(state);
    fs::remove(cancelled_);
    EXPECT_EQ(cancelled_after({}), "17\n") << state;
    EXPECT_EQ(said_, "");
  }
}

TEST_F(SlurmGiveBack, SaysThatNobodyKnowsWhereSlurmDoesNotAnswer) {
  program("squeue", "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1");
  EXPECT_EQ(cancelled_after({}), "");
  EXPECT_THAT(said_, ::testing::HasSubstr("scancel --name=assay"));
}

TEST_F(SlurmGiveBack, LeavesTheAllocationThatAssayWasStartedIn) {
  shows("RUNNING");
  ::setenv("SLURM_JOB_ID", "17", 1);
  EXPECT_EQ(cancelled_after({}), "");
  ::unsetenv("SLURM_JOB_ID");
}

}  // namespace
}  // namespace assay::launch
