#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "launch/agents/slurm/slurm_batch.h"
#include "launch/agents/slurm/slurm_command.h"
#include "launch/agents/slurm/slurm_end.h"

namespace assay::launch {
namespace {

using ::testing::Contains;
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
  const auto args = sbatch_args(plan, {"/opt/assay", "run", "--resume", "/a b"}, "/a b/log");
  EXPECT_THAT(args, IsSupersetOf({"--nodes=3-3", "--partition=gpu", "--output=/a b/log",
                                  "--no-requeue", "--wrap=exec /opt/assay run --resume '/a b'"}));
  plan.cluster.retries = 1;
  EXPECT_THAT(sbatch_args(plan, {"x"}, "log"), Contains("--requeue"));
}

TEST(SlurmCommand, SharedNodesAreOnRequest) {
  SlurmJob shared = job();
  shared.options.exclusive = false;
  EXPECT_THAT(slurm_argv(shared), Not(Contains("--exclusive")));
}

SlurmJob heterogeneous() {
  SlurmJob mixed = job();
  mixed.nodes = 3;
  plan::SlurmComponent first;
  first.partition = "cpu";
  plan::SlurmComponent second;
  second.nodes = 2;
  second.extra = {"--mem=1G"};
  mixed.options.components = {first, second};
  mixed.components = {1, 2};
  return mixed;
}

TEST(SlurmCommand, AHeterogeneousJobHasAnSrunForEachComponent) {
  const auto argv = slurm_argv(heterogeneous());
  EXPECT_EQ(argv[0], "salloc");
  const auto colon = std::ranges::find(argv, ":");
  ASSERT_NE(colon, argv.end());
  const std::vector<std::string> first(argv.begin(), colon);
  const std::vector<std::string> second(colon, argv.end());
  EXPECT_THAT(first, IsSupersetOf({"--nodes=1-1", "--partition=cpu", "--gres=gpu:8"}));
  EXPECT_THAT(second, IsSupersetOf({"--nodes=2-2", "--partition=gpu", "--mem=1G",
                                    "/opt/assay-agent", "--merge"}));
  const Json commands = parse_json(argv.back(), "--merge");
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_THAT(commands[0].get<std::vector<std::string>>(),
              IsSupersetOf({"srun", "--het-group=0", "--ntasks=1", "slurm:0+0"}));
  EXPECT_THAT(commands[1].get<std::vector<std::string>>(),
              IsSupersetOf({"srun", "--het-group=1", "--ntasks=2", "slurm:1+1"}));
}

TEST(SlurmCommand, OnlyTheComponentsThatCasesNeedAreStarted) {
  SlurmJob mixed = heterogeneous();
  mixed.allocation = "17";
  mixed.nodes = 2;
  const auto argv = slurm_argv(mixed);
  EXPECT_EQ(argv[0], "/opt/assay-agent");
  const Json commands = parse_json(argv.back(), "--merge");
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_THAT(commands[1].get<std::vector<std::string>>(),
              IsSupersetOf({"--jobid=17", "--het-group=1", "--nodes=1", "--ntasks=1"}));
  mixed.nodes = 1;
  EXPECT_EQ(parse_json(slurm_argv(mixed).back(), "--merge").size(), 1u);
}

using Answer = slurm::Answer<std::vector<slurm::Job>>;

Answer one_job(slurm::JobState state) {
  return std::vector{slurm::Job{.id = "17", .state = state}};
}

TEST(WordOnEnd, SqueueThatDidNotGetToAnswerIsAskedAgain) {
  EXPECT_TRUE(word_on_end(slurm::NoAnswer{}, "17", std::chrono::seconds(5)).ask_again);
  const Answer forgotten = std::vector<slurm::Job>{};
  EXPECT_FALSE(word_on_end(forgotten, "17", {}).ask_again);
}

TEST(WordOnEnd, SignalsMayBeThereBeforeSqueueShowsWhy) {
  const Answer running = one_job(slurm::JobState::running);
  EXPECT_TRUE(word_on_end(running, "17", {}).ask_again);
  const EndWord settled = word_on_end(running, "17", kStillRunning);
  EXPECT_FALSE(settled.ask_again) << "the rank was killed by something else";
  EXPECT_EQ(settled.words, "");
}

TEST(WordOnEnd, AJobThatEndsIsWaitedForUnlessThisControllerRunsInIt) {
  const Answer completing = one_job(slurm::JobState::completing);
  EXPECT_TRUE(word_on_end(completing, "", std::chrono::seconds(5)).ask_again);
  const EndWord own = word_on_end(completing, "17", {});
  EXPECT_FALSE(own.ask_again);
  EXPECT_THAT(own.words, HasSubstr("Slurm ends job 17"));
}

TEST(WordOnEnd, AJobThatHasEndedSaysWhy) {
  const auto words = [](slurm::JobState state) {
    return word_on_end(one_job(state), "", {}).words;
  };
  EXPECT_THAT(words(slurm::JobState::cancelled), HasSubstr("cancelled from outside"));
  EXPECT_THAT(words(slurm::JobState::preempted), HasSubstr("pre-empted"));
  EXPECT_THAT(words(slurm::JobState::timeout), HasSubstr("raise slurm.time"));
  EXPECT_EQ(words(slurm::JobState::completed), "");
}

}  // namespace
}  // namespace assay::launch
