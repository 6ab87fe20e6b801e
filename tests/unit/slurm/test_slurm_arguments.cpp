#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/slurm_arguments.h"

namespace assay::slurm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

TEST(SlurmArguments, SqueueIsAskedForTheJobsOfAFilter) {
  EXPECT_THAT(squeue_argv({}), Contains("--states=all"));
  EXPECT_THAT(squeue_argv({.user = 1000}), Contains("--user=1000"));
  EXPECT_THAT(squeue_argv({.name = "assay-run1"}), Contains("--name=assay-run1"));
  EXPECT_THAT(squeue_argv({.id = "17+1"}), Contains("--jobs=17"));
  EXPECT_THAT(squeue_argv({.id = "17"}), Not(Contains(StartsWith("--user"))));
}

TEST(SlurmArguments, AnAllocationIsItsNodesAndTheOptionsThatHaveAValue) {
  EXPECT_THAT(allocation_options({.name = "assay-7",
                                  .nodes = 2,
                                  .exclusive = true,
                                  .plain = {{"partition", "gpu"}, {"qos", ""}},
                                  .extra = {"--comment=x y"}}),
              ElementsAre("--job-name=assay-7", "--nodes=2-2", "--ntasks-per-node=1",
                          "--partition=gpu", "--exclusive", "--comment=x y"));
}

TEST(SlurmArguments, AStepTakesNothingFromWhatRunsBesideIt) {
  const auto argv = srun_argv({.nodes = 3, .options = {"--no-kill"}});
  EXPECT_EQ(argv.front(), "srun");
  EXPECT_THAT(argv, IsSupersetOf({"--nodes=3", "--ntasks=3", "--overlap", "--mem=0",
                                  "--cpu-bind=none", "--no-kill"}));
  EXPECT_THAT(argv, Not(Contains(StartsWith("--jobid"))));
}

TEST(SlurmArguments, ACommandRunsOnOneNodeOfAComponent) {
  const auto argv = step_argv("17+1", "n3", {"agent", "--sweep"});
  EXPECT_THAT(argv, IsSupersetOf({"--jobid=17", "--het-group=1", "--nodelist=n3", "--nodes=1"}));
  EXPECT_EQ(argv[argv.size() - 2], "agent");
  EXPECT_THAT(step_argv("17", "n3", {"agent"}), Not(Contains(StartsWith("--het-group"))));
}

}  // namespace
}  // namespace assay::slurm
