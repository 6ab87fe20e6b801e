#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/rank_process.h"

namespace assay::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Not;
using ::testing::StartsWith;

/// A variable that is set while the object lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(RankEnvironment, IsWithoutWhatSrunSaysOfTheAgentsStep) {
  const Variable job("SLURM_JOB_ID", "7");
  const Variable rank("SLURM_PROCID", "0");
  const Variable per_node("SLURM_NTASKS_PER_NODE", "1");
  const Variable per_gpu("SLURM_NTASKS_PER_GPU", "1");
  const Variable group("SLURM_NTASKS_PER_NODE_HET_GROUP_1", "1");
  const Variable tasks("SLURM_TASKS_PER_NODE_PACK_GROUP_0", "1(x2)");
  const Variable of_the_job("SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0", "1(x2)");
  const auto env = environment_of_rank({});
  EXPECT_THAT(env, Contains("SLURM_JOB_ID=7"));
  EXPECT_THAT(env, Contains("SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=1(x2)"));
  for (const char* name :
       {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE_PACK_GROUP", "SLURM_NTASKS_PER"})
    EXPECT_THAT(env, Not(Contains(StartsWith(name))));
}

// mpirun does not start without it where there is a job.
TEST(RankEnvironment, KeepsTheTasksOfANodeUnlessTheRoundHasItsOwn) {
  const Variable tasks("SLURM_TASKS_PER_NODE", "1(x2)");
  EXPECT_THAT(environment_of_rank({}), Contains("SLURM_TASKS_PER_NODE=1(x2)"));
  EXPECT_THAT(
      environment_of_rank({"SLURM_TASKS_PER_NODE=2(x2)"}),
      AllOf(Contains("SLURM_TASKS_PER_NODE=2(x2)"), Not(Contains("SLURM_TASKS_PER_NODE=1(x2)"))));
}

}  // namespace
}  // namespace assay::agent
