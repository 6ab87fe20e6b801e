#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/agents/bundle.h"
#include "launch/agents/slurm/slurm_batch.h"
#include "launch/agents/slurm/slurm_command.h"

namespace assay::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
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

TEST(Bundle, HoldsTheProgramsThatThePlanTakesFromBindir) {
  plan::Plan plan;
  plan::CasePlan one;
  one.command = {"{bindir}/assay-micro", "null"};
  plan::CasePlan two;
  two.command = {"/bin/sh", "-c", "exec {bindir}/assay-train resnet20 --config {config}"};
  plan.cases = {one, two, one};
  plan.vendor_data["samples"] = {{{"command", {"{bindir}/assay-nvml", "--interval-ms", "100"}}}};
  plan.vendor_data["state"]["command"] = {"{bindir}/assay-state"};
  EXPECT_THAT(programs_of(plan), ElementsAre("assay-agent", "assay-micro", "assay-train",
                                             "assay-nvml", "assay-state"));
}

TEST(Bundle, ShipsLibrariesButNotTheNodesOwn) {
  EXPECT_THAT(
      libraries_to_ship("\tlinux-vdso.so.1 (0x00007ffd)\n"
                        "\tlibtorch.so.1.13 => /lib/x86_64-linux-gnu/libtorch.so.1.13 (0x1)\n"
                        "\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x2)\n"
                        "\tlibmissing.so => not found\n"
                        "\t/lib64/ld-linux-x86-64.so.2 (0x3)\n"),
      ElementsAre("/lib/x86_64-linux-gnu/libtorch.so.1.13"));
}

}  // namespace
}  // namespace assay::launch
