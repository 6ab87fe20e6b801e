#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace assay::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(LauncherOptions, HostsShareTheAccessOfSshAlone) {
  SshOptions ssh;
  ssh.user = "bench";
  ssh.port = 2222;
  EXPECT_EQ(common_access(ssh).user, "bench");
  EXPECT_EQ(common_access(ssh).port, 2222);
  EXPECT_EQ(common_access(SlurmOptions{}), SshAccess{});
}

TEST(LauncherOptions, SlurmTellsMpirunHowManyTasksANodeHas) {
  CasePlan plan;
  plan.nodes = 2;
  plan.procs = 8;
  EXPECT_THAT(node_variables(SlurmOptions{}, plan),
              ElementsAre(Pair("SLURM_TASKS_PER_NODE", "8(x2)")));
  EXPECT_THAT(node_variables(LocalOptions{}, plan), IsEmpty());
}

TEST(LauncherOptions, OnlyJobsOfAisBenchLeaveTheirResultInFiles) {
  ModelArtsOptions cloud;
  cloud.single_server = true;
  ASSERT_TRUE(result_files(cloud));
  EXPECT_TRUE(result_files(cloud)->single_server);
  cloud.results = "perflog";
  EXPECT_FALSE(result_files(cloud));
  EXPECT_FALSE(result_files(HttpOptions{}));
  EXPECT_FALSE(result_files(LocalOptions{}));
}

}  // namespace
}  // namespace assay::plan
