#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/launchers/slurm_ranks.h"
#include "unit/plan/testing.h"

namespace assay::plan {
namespace {

using ::testing::Contains;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using testing::plan;

CasePlan ring_with(const std::string& slurm, const std::string& more = {}) {
  return plan("cluster: {launcher: slurm, slurm: {" + slurm +
              "}}\ncases: [{name: ring, nodes: 2, procs: 4, command: [./ring, '{config}']" + more +
              "}]")
      .cases.at(0);
}

std::string ring_error(const std::string& slurm, const std::string& more = {}) {
  return error_of([&] { return ring_with(slurm, more); });
}

TEST(SlurmRanks, AreTasksOfOneSrunThatTheFirstNodeStarts) {
  const CasePlan ring = ring_with("mpi: pmix, step: ['--cpu-bind=cores']");
  EXPECT_EQ(ring.launch, LaunchMode::head);
  EXPECT_EQ(ring.command.front(), "srun");
  EXPECT_THAT(ring.command,
              IsSupersetOf({"--mpi=pmix", "--nodes=2", "--ntasks=8", "--ntasks-per-node=4",
                            "--distribution=block", "--overlap", "--kill-on-bad-exit=1"}));
  // What the suite adds comes later, and wins.
  EXPECT_LT(std::ranges::find(ring.command, "--cpu-bind=none"),
            std::ranges::find(ring.command, "--cpu-bind=cores"));
  EXPECT_EQ(ring.command[ring.command.size() - 2], "./ring");
  EXPECT_THAT(ring.command, Contains(HasSubstr("RANK=$SLURM_PROCID")));
}

TEST(SlurmRanks, AreTheAgentsWithoutMpi) {
  EXPECT_EQ(ring_with("partition: gpu").launch, LaunchMode::per_rank);
  EXPECT_EQ(ring_with("mpi: none").launch, LaunchMode::per_rank);
  EXPECT_EQ(ring_with("mpi: none").command.front(), "./ring");
}

TEST(SlurmRanks, OfAHeadAreItsOwnBusiness) {
  EXPECT_EQ(ring_with("mpi: pmix", ", launch: head").command.front(), "./ring");
}

TEST(SlurmRanks, InAContainerOfPyxisGetItsOptions) {
  const CasePlan ring = ring_with(
      "mpi: pmix",
      ", workdir: /work, data: /data, container: {runtime: pyxis, image: 'docker://a/b:1', mounts: "
      "['/scratch:/scratch'], options: ['--container-writable']}");
  EXPECT_THAT(ring.command,
              IsSupersetOf({"--container-image=docker://a/b:1", "--container-workdir=/work",
                            "--no-container-mount-home", "--container-writable",
                            "--container-mounts={outdir}:{outdir},{bindir}:{bindir}:ro,/work:/work,"
                            "/data:/data:ro,/scratch:/scratch"}));
  EXPECT_FALSE(ring.container) << "srun makes it, not the agent";
}

TEST(SlurmRanks, SayWhatSrunCannotDo) {
  EXPECT_THAT(ring_error("mpi: pmix, shared: false"), HasSubstr("files that all nodes see"));
  EXPECT_THAT(ring_error("step: [--x]"), HasSubstr("'step' is for ranks that srun starts"));
  EXPECT_THAT(ring_error("mpi: --wrap"), HasSubstr("must not begin with '-'"));
  EXPECT_EQ(ring_error("mpi: pmix", ", launch: per-rank, env: {A: b}"), "no error");
  EXPECT_THAT(error_of([] {
                return plan(
                    "cluster: {launcher: slurm, slurm: {mpi: pmix}}\n"
                    "cases: [{name: x, command: [./ring, '{rank}']}]");
              }),
              HasSubstr("{rank}"));
  EXPECT_THAT(ring_error("mpi: pmix", ", container: {image: x}"), HasSubstr("runtime: pyxis"));
  EXPECT_THAT(ring_error("", ", container: {runtime: pyxis, image: x}"),
              HasSubstr("only srun makes"));
  EXPECT_THAT(ring_error("mpi: pmix", ", bind: cores"), HasSubstr("--cpu-bind"));
  EXPECT_THAT(error_of([] {
                return plan(
                    "cluster: {launcher: slurm, slurm: {mpi: pmix}}\ncases: [{case: "
                    "'train:native:cpu:2:1:1', command: [x], container: {runtime: pyxis, image: "
                    "y}}]");
              }),
              HasSubstr("a path with a colon"));
}

}  // namespace
}  // namespace assay::plan
