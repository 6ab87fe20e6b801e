#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/slurm/slurm_batch.h"
#include "launch/agents/slurm/slurm_command.h"

namespace assay::launch {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

SlurmJob job() {
  SlurmJob job;
  job.name = "assay-run1";
  job.nodes = 4;
  job.agent = "/opt/assay-agent";
  job.options.partition = "gpu";
  job.options.gres = "gpu:8";
  job.options.extra = {"--comment=x y"};
  return job;
}

TEST(SlurmCommand, SallocMakesTheAllocationForOneSrun) {
  const auto argv = slurm_argv(job());
  EXPECT_EQ(argv[0], "salloc");
  EXPECT_THAT(argv, IsSupersetOf({"--nodes=4-4", "--partition=gpu", "--gres=gpu:8", "--exclusive",
                                  "--comment=x y", "srun", "--ntasks=4", "/opt/assay-agent"}));
  EXPECT_EQ(argv.back(), "slurm");
}

TEST(SlurmCommand, WithinAnAllocationThereIsOnlySrun) {
  SlurmJob inside = job();
  inside.allocation = "17";
  const auto argv = slurm_argv(inside);
  EXPECT_EQ(argv[0], "srun");
  EXPECT_THAT(argv, Contains("--jobid=17"));
  EXPECT_THAT(argv, Not(Contains("--partition=gpu")));
}

TEST(SlurmCommand, ABatchJobAsksForTheNodesOfTheLargestCase) {
  plan::Plan plan;
  plan.run_id = "run1";
  plan.cases.resize(2);
  plan.cases[1].nodes = 3;
  plan::SlurmOptions slurm;
  slurm.partition = "gpu";
  plan.cluster.use_launcher(slurm);
  const auto argv = sbatch_argv(plan, {"/opt/assay", "run", "--resume", "/a b"}, "/a b/log");
  EXPECT_EQ(argv[0], "sbatch");
  EXPECT_THAT(argv, IsSupersetOf({"--nodes=3-3", "--partition=gpu", "--output=/a b/log",
                                  "--no-requeue", "--wrap=exec /opt/assay run --resume '/a b'"}));
  plan.cluster.retries = 1;
  EXPECT_THAT(sbatch_argv(plan, {"x"}, "log"), Contains("--requeue"));
}

TEST(SlurmCommand, SharedNodesAreOnRequest) {
  SlurmJob shared = job();
  shared.options.exclusive = false;
  EXPECT_THAT(slurm_argv(shared), Not(Contains("--exclusive")));
}

}  // namespace
}  // namespace assay::launch
