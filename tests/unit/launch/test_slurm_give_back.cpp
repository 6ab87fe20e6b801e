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
  [[nodiscard]] std::string cancelled_after(std::vector<plan::SlurmComponent> components) const {
    plan::SlurmOptions options;
    options.components = std::move(components);
    plan::Cluster cluster;
    cluster.use_launcher(options);
    SlurmLauncher(cluster, options, "/opt").give_back({"17+0", "17+1"});
    return read_file_or_empty(cancelled_);
  }

  testing::TemporaryFolder folder_;
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

TEST_F(SlurmGiveBack, LeavesAnOrdinaryJobToSalloc) {
  shows("RUNNING");
  EXPECT_EQ(cancelled_after({}), "");
}

}  // namespace
}  // namespace assay::launch
